"""Hooks as lambdas, partials and static methods; a Function under another name; errors caught by message."""

import functools

import torch
from torch import autograd, nn

seen = []
last = {}


def note(name, module, inputs, output):
    seen.append(output)  # expect: TML105


class Probe:
    @staticmethod
    def gradients(module, grad_input, grad_output):
        last.setdefault("all", []).append(grad_output[0])  # expect: TML105


class Tanh(autograd.Function):
    @staticmethod
    def forward(context, value):
        result = torch.tanh(value)
        context.result = result  # expect: TML110
        return result

    @staticmethod
    def backward(context, gradient):
        return gradient * (1 - context.result**2)


def attempt(net: nn.Module, x):
    try:
        loss = net(x).sum()
        loss.backward()
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        for part in x.chunk(2):
            net(part).sum().backward()  # expect: TML111


def main():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    net[0].register_forward_hook(functools.partial(note, "first"))
    net[1].register_full_backward_hook(Probe.gradients)
    for _ in range(3):
        attempt(net, torch.randn(2, 4))
        loss = Tanh.apply(net(torch.randn(2, 4))).mean()
        loss.backward(retain_graph=True)  # expect: TML109
    print(len(seen))


if __name__ == "__main__":
    main()
