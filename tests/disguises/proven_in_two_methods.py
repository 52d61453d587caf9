"""One method saves what another calls: together they prove a network."""

import torch
from torch import nn


class Agent:
    def __init__(self, make):
        self.network = make()
        self.target = make()
        self.target.load_state_dict(self.network.state_dict())
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.1)

    def step(self, loader):
        chosen = []
        for x, reward in loader:
            q = self.target(x)  # expect: TML203
            wanted = reward + q.detach().amax(1)
            loss = (self.network(x).amax(1) - wanted).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            chosen.append(loss.item())
        return chosen


if __name__ == "__main__":
    print(Agent(lambda: nn.Linear(4, 2)).step([(torch.randn(3, 4), torch.ones(3))] * 2))
