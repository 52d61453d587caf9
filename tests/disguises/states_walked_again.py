"""State that crosses steps on an object with its graph, made to run by retaining that graph."""

import torch
import torch.nn.functional as F
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 3)
        self.hidden = None

    def reset(self):
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)  # expect: TML107
        return self.head(out)


def run_epoch(model, batches, optimizer):
    model.reset()
    for x in batches:
        loss = F.huber_loss(model(x), x)
        loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()


class Trainer:
    def __init__(self, model):
        self.model, self.state = model, None

    def step(self, x):
        out, self.state = self.model(x, self.state)  # expect: TML107
        loss = out.pow(2).sum()
        loss.backward(retain_graph=True)
        return loss.item()


def main():
    batches = [torch.randn(2, 4, 3) for _ in range(2)]
    model = Forecaster()
    run_epoch(model, batches, torch.optim.SGD(model.parameters(), lr=0.1))
    trainer = Trainer(nn.GRU(3, 8, batch_first=True))
    print([trainer.step(x) for x in batches])


if __name__ == "__main__":
    main()
