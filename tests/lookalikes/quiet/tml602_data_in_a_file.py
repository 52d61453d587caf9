"""What is copied out of a file is data, not weights."""

import torch
from torch import nn


def shifted(path, loader, net: nn.Linear, optimizer: torch.optim.Adam):
    rows = torch.load(path)
    shift = torch.empty(10, 8, device="cuda")
    shift.copy_(rows["shift"])
    optimizer.load_state_dict(rows["optimizer"])
    with torch.no_grad():
        for x in loader:
            print(net(x + shift).sum().item())
