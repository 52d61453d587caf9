"""The layers run for what a hook keeps of one of them: the backward through that frees the graph of the last result."""

import torch
from torch.optim import Adam


class Visualisation:
    def __init__(self, model, layer, channel):
        self.model = model
        self.model.eval()
        self.layer = layer
        self.channel = channel
        self.output = 0

    def hook(self):
        def keep(module, given, result):
            self.output = result[0, self.channel]

        self.model[self.layer].register_forward_hook(keep)

    def dream(self, image):
        self.hook()
        optimizer = Adam([image], lr=0.1)
        for _ in range(30):
            optimizer.zero_grad()
            x = image
            for number, layer in enumerate(self.model):
                x = layer(x)
                if number == self.layer:
                    break
            loss = -torch.mean(self.output)
            loss.backward()
            optimizer.step()
        return image
