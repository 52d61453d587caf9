"""Smoke tests of one tiny batch."""

import torch
from torch import nn


class TinyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x):
        return self.layers(x)


def test_output_shape():
    model = TinyNet()
    out = model(torch.randn(2, 4))
    assert out.shape == (2, 2)


def test_gradients_flow():
    model = TinyNet()
    model(torch.randn(2, 4)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_eval_is_deterministic():
    model = TinyNet().eval()
    x = torch.randn(2, 4)
    assert torch.equal(model(x), model(x))


if __name__ == "__main__":
    test_output_shape()
    test_gradients_flow()
    test_eval_is_deterministic()
