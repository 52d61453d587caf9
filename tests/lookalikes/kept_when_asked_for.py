"""A layer keeps its weights for who turns that on, which training does not."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, record=False):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.record = record
        self.weights = None

    def forward(self, x):
        weights = self.score(torch.tanh(self.project(x))).softmax(1)
        self.remember(weights)
        return (weights * x).sum(1)

    def remember(self, weights):
        if self.record:
            self.weights = weights


def train(loader):
    model = Attention(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def shown(state, x):
    model = Attention(8, record=True)
    model.load_state_dict(state)
    with torch.no_grad():
        model(x)
    return model.weights.tolist()


if __name__ == "__main__":
    trained = train([(torch.randn(4, 3, 8), torch.zeros(4, dtype=torch.long))])
    print(shown(trained.state_dict(), torch.randn(1, 3, 8)))
