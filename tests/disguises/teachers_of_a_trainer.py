"""A trainer's teacher is put into eval mode by the constructor, run by one method, and its graph is walked by another."""

import torch
import torch.nn.functional as F
from torch import nn


def network(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))


def distance(student, teacher, y):
    return F.cross_entropy(student, y) + F.kl_div(student.log_softmax(1), teacher.softmax(1), reduction="batchmean")


class Distilled:
    def __init__(self, teacher, student):
        self.teacher = teacher.eval()
        self.student = student
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1)

    def loss(self, x, y):
        return distance(self.student(x), self.teacher(x), y)  # expect: TML506

    def walk(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def fit(self, loader):
        for x, y in loader:
            self.walk(self.loss(x, y))


if __name__ == "__main__":
    Distilled(network(64), network(8)).fit([(torch.randn(4, 8), torch.randint(0, 2, (4,)))])
