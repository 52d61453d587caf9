"""A network in eval mode is frozen by another: by who hands it over, by a helper, by a method of the trainer."""

import torch
import torch.nn.functional as F
from torch import nn


def network(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))


def freeze(net):
    for p in net.parameters():
        p.requires_grad = False
    return net


class Distilled:
    def __init__(self, teacher, student):
        self.teacher = teacher.eval()
        self.student = student
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1)

    def loss(self, x, y):
        scores = self.student(x)
        return F.cross_entropy(scores, y) + F.mse_loss(scores, self.teacher(x))

    def walk(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def fit(self, loader):
        for x, y in loader:
            self.walk(self.loss(x, y))


class Perceptual:
    def __init__(self):
        self.features, self.net = network(64), network(16)
        self.features.eval()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def prepare(self):
        freeze(self.features)
        return self

    def fit(self, loader):
        for x, y in loader:
            loss = F.mse_loss(self.features(x + self.net(x).mean()), self.features(x))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def fit(teacher, student, loader):
    teacher.eval()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for x, y in loader:
        scores = student(x)
        loss = F.cross_entropy(scores, y) + F.mse_loss(scores, teacher(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(loader):
    first, second = network(64), network(64)
    for p in first.parameters():
        p.requires_grad = False
    Distilled(first, network(8)).fit(loader)
    fit(freeze(second), network(8), loader)
    Perceptual().prepare().fit(loader)


if __name__ == "__main__":
    main([(torch.randn(4, 8), torch.randint(0, 2, (4,)))])
