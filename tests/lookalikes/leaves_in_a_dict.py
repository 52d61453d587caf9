"""Parameters kept in a dict require grad and have no graph behind them."""

import torch
from torch import nn


def rebuilt(model, state):
    fresh = {}
    for name, tensor in state.items():
        fresh[name] = nn.Parameter(tensor)
    model.load_state_dict(fresh, assign=True)


def prompts(count, width):
    found = []
    for _ in range(count):
        found.append(nn.Parameter(torch.randn(width)))
    print(len(found))


if __name__ == "__main__":
    net = nn.Linear(2, 2)
    rebuilt(net, {name: tensor.clone() for name, tensor in net.state_dict().items()})
    prompts(2, 3)
