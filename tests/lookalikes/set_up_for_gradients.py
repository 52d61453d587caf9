"""Models that a method makes and puts into eval mode, of which gradients are wanted, or none are recorded."""

import torch
from torch import nn


class Saliency:
    def setup(self):
        self.net = nn.Linear(4, 2).eval()

    def scores(self, x):
        return self.net(x)

    def explain(self, x):
        x = x.clone().requires_grad_()
        (grad,) = torch.autograd.grad(self.scores(x)[:, 0].sum(), x)
        return grad.abs()


class Frozen:
    def load(self):
        self.net = nn.Linear(4, 2).eval().requires_grad_(False)

    def answer(self, x):
        return self.net(x).tolist()


class Guarded:
    def load(self):
        self.net = nn.Linear(4, 2)
        self.net.eval()

    def forward(self, x):
        return self.net(x)

    @torch.inference_mode()
    def answer(self, x):
        return self.forward(x).tolist()


class Tuner:
    def start(self):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.net.eval()  # the statistics stay as they are

    def loss(self, x):
        return self.net(x).pow(2).mean()

    def step(self, x):
        self.optimizer.zero_grad()
        self.loss(x).backward()
        self.optimizer.step()


if __name__ == "__main__":
    data = torch.randn(3, 4)
    saliency, frozen, guarded, tuner = Saliency(), Frozen(), Guarded(), Tuner()
    saliency.setup()
    frozen.load()
    guarded.load()
    tuner.start()
    tuner.step(data)
    print(saliency.explain(data).shape, len(frozen.answer(data)), len(guarded.answer(data)))
