"""Tables of tensors that are bounded, emptied, rebuilt when the size changes, or hold numbers; flags and sizes on ctx."""

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.recent, self.latest, self.sizes, self.layers = {}, {}, {}, {}

    def forward(self, n):
        if n not in self.recent:
            if len(self.recent) > 4:
                self.recent.pop(next(iter(self.recent)))
            self.recent[n] = torch.arange(n)
        return self.recent[n] + self.table(n)

    def table(self, n):
        if n not in self.latest:
            self.latest.clear()
            self.latest[n] = torch.zeros(n)
        return self.latest[n]

    def size(self, n):
        if n not in self.sizes:
            self.sizes[n] = n * n
        return self.sizes[n]


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.shapes, ctx.options = (x.shape, x.dtype), {"factor": factor}
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad.view(ctx.shapes[0]) * ctx.options["factor"], None


if __name__ == "__main__":
    net = Positions()
    print(net(3), net.size(3))
    Scale.apply(torch.randn(2, requires_grad=True), 2.0).sum().backward()
