"""Blocks of a pipeline that other blocks of the same family hold, and run with grad off."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def encode(self, rows):
        return self.layer(rows)


class Block:
    """What all blocks have in common."""


class Sequence(Block):
    def __init__(self, blocks):
        self.blocks = blocks

    @torch.no_grad()
    def __call__(self, components, state):
        for name, block in self.blocks.items():
            components, state = block(components, state)
        return components, state


def encoded(images: torch.Tensor, encoder: Encoder):
    rows = [encoder.encode(images[i : i + 1]) for i in range(images.shape[0])]
    return torch.cat(rows)


class Encode(Block):
    def __call__(self, components, state):
        state.latents = encoded(state.images, components.encoder)
        state.all = []
        for image in state.images:
            state.all.append(components.encoder(image))
        return components, state
