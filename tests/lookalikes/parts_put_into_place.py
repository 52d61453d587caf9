"""Parts of a forward that are summed or written into another tensor by index, all within one graph."""

import torch
from torch import nn


class Adapters(nn.Module):
    def __init__(self, adapters):
        super().__init__()
        self.adapters = nn.ModuleList(adapters)

    def forward(self, images, weights):
        state = None
        for image, weight, adapter in zip(images, weights, self.adapters):
            features = adapter(image)
            if state is None:
                state = features
                for i in range(len(state)):
                    state[i] = weight * state[i]
            else:
                for i in range(len(features)):
                    state[i] += weight * features[i]
        return state


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, width)

    def forward(self, rows):
        return self.out(rows)


class Unpacked:
    """Called by a layer: text and image rows go back into the tensors that they came from."""

    def __call__(self, attention: Attention, text: torch.Tensor, image: torch.Tensor, lengths, masks):
        rows = attention(torch.cat([text, image], dim=1))
        parts = [torch.split(row, [m, n]) for row, (m, n) in zip(rows, lengths)]
        texts = [part[0] for part in parts]
        images = [part[1] for part in parts]
        for i in range(len(lengths)):
            text[i][masks[i]] = texts[i]
            image[i][~masks[i]] = images[i]
        return text, image
