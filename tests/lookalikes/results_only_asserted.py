"""Tests and demonstrations that train one step and then look at further results: all of it is small."""

import unittest

import torch
from torch import nn


class LoopedTest(unittest.TestCase):
    def test_early_exit(self):
        decoder = nn.GRU(8, 8)
        tokens = torch.randn(4, 1, 8)
        decoder(tokens)[0].sum().backward()

        early, state = decoder(tokens)
        assert early.shape == (4, 1, 8)

        late, state = decoder(tokens, state)
        assert late.shape == (4, 1, 8)

    def test_overfits(self):
        model = nn.Linear(8, 1)
        batch = torch.randn(4, 8)
        optimizer = torch.optim.Adam(model.parameters())
        first = model(batch).mean().item()
        for _ in range(80):
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
        last = model(batch).mean().item()
        assert last < first


if __name__ == "__main__":
    for depth in (1, 2):
        model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(depth)))
        images = torch.randn(2, 8)
        loss = model(images).mean()
        loss.backward()

        predicted = model(images)
        assert predicted.shape == (2, 8)
