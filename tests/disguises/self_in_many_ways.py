"""Attached values on self: by a helper, by item, by augmented assignment, by a tuple target, by setattr."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)
        self.taps, self.maps, self.log = {}, [], []

    def _remember(self, h):
        self.hidden = h  # expect: TML103

    def forward(self, x):
        h = torch.relu(self.first(x))
        self._remember(h)
        self.taps["relu"] = h  # expect: TML103
        self.maps += [h]  # expect: TML103
        self.pair = (h, h.shape)  # expect: TML103
        z = self.second(h)
        self.low, self.high = z.amin(1), 1.0  # expect: TML103
        setattr(self, "scores", z)  # expect: TML103
        log = self.log
        log.append(z.softmax(1))  # expect: TML103
        return z


class Learner:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.total, self.smooth = 0.0, 0.0

    def training_step(self, x, y):
        self.logits = self.net(x)  # expect: TML103
        loss = F.cross_entropy(self.logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        margin = self.logits.softmax(1).amax(1).mean()
        self.total += margin  # expect: TML102
        self.smooth = 0.9 * self.smooth + 0.1 * margin  # expect: TML102
        return loss.item()


if __name__ == "__main__":
    learner = Learner()
    for _ in range(2):
        print(learner.training_step(torch.randn(5, 4), torch.arange(5) % 3))
    print(float(learner.total), float(learner.smooth))
