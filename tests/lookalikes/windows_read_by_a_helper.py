"""What grows is read in each round by a method of the project: a list joined after the loop would not do."""

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.net = nn.Linear(3, 1)
        self.length = length

    def lagged(self, sequence, indices):
        return torch.stack([sequence[:, -i] for i in indices], dim=-1)

    def forward(self, past):
        found = []
        for _ in range(self.length):
            lags = self.lagged(past, (1, 2, 3))
            new = torch.distributions.Normal(self.net(lags), 1.0).rsample()
            past = torch.cat((past, new), dim=1)
            found.append(new)
        return torch.cat(found, dim=1)
