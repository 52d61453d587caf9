"""The student is run once in eval mode for its shapes, then trained with what else is in a list of modules."""

import torch
import torch.nn.functional as F
from torch import nn


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        features = self.conv(x).mean((2, 3))
        return features, self.fc(features)


def main(loader, teacher: nn.Module):
    student = Student()
    student.eval()
    with torch.no_grad():
        features, _ = student(torch.randn(2, 3, 32, 32))
    regress = nn.Linear(features.shape[1], 16)
    trained = nn.ModuleList([])
    trained.append(student)
    trained.append(regress)
    teacher.requires_grad_(False)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.05)
    for _ in range(10):
        epoch(loader, [student, regress], teacher, optimizer)


def epoch(loader, modules, teacher, optimizer):
    for module in modules:
        module.train()
    student, regress = modules
    for x, y in loader:
        features, scores = student(x)
        loss = F.cross_entropy(scores, y) + (regress(features) - teacher(x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Features(nn.Module):
    """Its blocks return a detached copy beside their output: only that is kept."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList()
        for _ in range(3):
            self.blocks.append(Block())
        self.kept = []

    def forward(self, x):
        for block in self.blocks:
            x, copy = block(x)
            self.kept.append(copy.mean().item())
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        x = self.fc(x)
        return x, x.detach()
