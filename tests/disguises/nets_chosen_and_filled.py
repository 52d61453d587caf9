"""Nets whose class a branch chooses, filled layer by layer with `add_module`; the generator's output is read as data."""

import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, size):
        super().__init__()
        main = nn.Sequential()
        main.add_module("first", nn.ConvTranspose2d(4, 3, size, bias=False))
        main.add_module("last", nn.Tanh())
        self.main = main

    def forward(self, x):
        if x.is_cuda and torch.cuda.device_count() > 1:
            return nn.parallel.data_parallel(self.main, x, range(2))
        return self.main(x)


class Flat(Generator):
    pass


def pictures(options):
    if options.flat:
        net = Flat(4)
    elif options.small:
        net = Generator(2)
    else:
        net = Generator(4)
    net.load_state_dict(torch.load(options.weights, map_location="cpu"))
    for _ in range(options.count):
        fake = net(torch.randn(1, 4, 1, 1))  # expect: TML201
        print(fake.data.mul(0.5).add(0.5).mean().item())


class Painter:
    def __init__(self, options):
        if options.kind == "flat":
            made = Flat
        elif options.kind == "full":
            made = Generator
        else:
            raise ValueError(options.kind)
        self.net = made(4)

    def show(self, noise):
        self.net.eval()
        return [self.net(z).data.mean().item() for z in noise]  # expect: TML201


if __name__ == "__main__":
    pictures(torch.hub.load("options", "read"))
