"""The losses of all batches are added up, and a helper runs one backward over the total."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Learner:
    def __init__(self, net, lr):
        self.net, self.lr = net, lr

    def adapt(self, loss):
        loss.backward()
        with torch.no_grad():
            for p in self.net.parameters():
                p.sub_(self.lr * p.grad)
                p.grad = None


def inner_loop(learner, net, support, steps):
    history = []
    for _ in range(steps):
        loss, total = 0.0, 0.0
        for x, y in support:
            current = (net(x) - y).pow(2).mean()
            loss += current / len(support)  # expect: TML504
            total += current.item()
        learner.adapt(loss)
        history.append(total)
    return sum(history) / len(history)


if __name__ == "__main__":
    net = nn.Linear(4, 1)
    support = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    print(inner_loop(Learner(net, 0.1), net, support, 3))
