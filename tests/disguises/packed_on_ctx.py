"""Inputs and outputs of a custom function on `ctx` in a tuple, a dict or a record."""

from dataclasses import dataclass

import torch


@dataclass
class Call:
    inputs: tuple
    result: torch.Tensor


class InRecord(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        result = torch.tanh(a) * b
        ctx.call = Call((a, b), result)  # expect: TML110
        return result

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.call.inputs
        t = torch.tanh(a)
        return grad * b * (1 - t * t), grad * t


class InTuple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.saved, ctx.shape = (x, w), (x.shape, w.shape)  # expect: TML110
        return x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved
        return grad * w, grad * x


if __name__ == "__main__":
    left, right = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    InTuple.apply(InRecord.apply(left, right), right).sum().backward()
    print(left.grad, right.grad)
