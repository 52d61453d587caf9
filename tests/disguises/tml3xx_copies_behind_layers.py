"""Copies of tensors between calls that leave them alone, and lists of one tensor many times."""

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True)

    def forward(self, x):
        identity = x.clone()  # expect: TML303
        return self.act(self.norm(self.conv(x))) + identity


def activation(x):
    h = torch.clone(x)  # expect: TML303
    return torch.relu(h)


def gram(x):
    y = x.mT.contiguous()  # expect: TML302
    return y.pow(2).sum()


def shifted_loss(logits, labels):
    cut = logits[..., :-1, :].contiguous()  # expect: TML302
    return F.cross_entropy(cut.view(-1, cut.size(-1)), labels[..., 1:].reshape(-1))


@torch.no_grad()
def shifted_in_evaluation(logits, labels):
    loss = nn.CrossEntropyLoss()
    cut = logits[:, :-1].contiguous()  # expect: TML302
    return loss(cut.view(-1, cut.size(-1)), labels[:, 1:].reshape(-1))


def scaled(x, s):
    rows = torch.cat([s.unsqueeze(0)] * len(x), 0)  # expect: TML306
    return x * rows


def again(a: torch.Tensor):
    return a.new_tensor(a * 2)  # expect: TML305


def formats(x):
    y = x.clone(memory_format=torch.contiguous_format).contiguous()  # expect: TML301
    return y.view(-1)


if __name__ == "__main__":
    x = torch.randn(2, 3, 4, 4)
    print(Residual()(x).shape, activation(x).shape, gram(x).shape, scaled(torch.ones(2, 3), torch.ones(3)).shape)
    print(shifted_loss(torch.randn(2, 3, 5), torch.zeros(2, 3).long()), again(torch.ones(2)), formats(x).shape)
    print(shifted_in_evaluation(torch.randn(2, 3, 5), torch.zeros(2, 3).long()))
