"""Small copies and methods of common names: one step of the logits, one number, a method whose callers are out of sight."""

import torch
from torch import nn


@torch.no_grad()
def last_word(model, batches):
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for words in batches:
        output = model(words)
        total += criterion(output[:, -1].contiguous().view(-1, 50), words[:, -1].contiguous().view(-1)).item()
    return total


def penalty(net, batches, optimizer):
    for x in batches:
        x.requires_grad_()
        slope = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        loss = slope.pow(2).flatten(1).sum(1).mean() + net(x).mean()
        shown = loss.clone().detach().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(shown)


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 4)

    def forward(self, x):
        return self.scale(x), self.scale.weight.diagonal().abs().log().sum()

    def inverse(self, z):
        return z - self.scale(z), -self.scale.weight.diagonal().abs().log().sum()


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Step(), Step()])

    def inverse(self, z):
        total = 0.0
        for step in reversed(self.steps):
            z, part = step.inverse(z)
            total = total + part
        return z, total


@torch.no_grad()
def sample(model, count):
    return model.inverse(torch.randn(count, 4))[0]


def test_that_it_is_undone():
    flow = Flow()
    z, total = flow.inverse(torch.randn(2, 4))
    assert z.shape == (2, 4) and total.item() < 100
