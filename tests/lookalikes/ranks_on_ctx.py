"""Numbers on ctx of a Function whose backward hands its gradients on as a sum of tuples."""

import torch


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, left, right, tensor):
        ctx.left, ctx.right = left, right
        return tensor * (left - right)

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None) + (Exchange.apply(ctx.right, ctx.left, *gradients),)


if __name__ == "__main__":
    x = torch.ones(2, requires_grad=True)
    Exchange.apply(2, 1, x).sum().backward()
    print(x.grad)
