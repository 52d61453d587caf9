"""Parameters go into groups, lists and mappings: leaves, behind which no operation is recorded."""

import torch
from torch import nn


def optimizer_over_groups(lr=0.1, groups=2):
    param_groups = []
    for _ in range(groups):
        param = nn.Parameter(torch.randn(10, 5))
        param_groups.append({"params": [param], "lr": lr})
    return torch.optim.SGD(param_groups, lr=lr)


def moved(model, optimizers, device):
    before = dict(model.named_parameters())
    model = model.to(device)
    after = dict(model.named_parameters())
    mapping = {param: after[name] for name, param in before.items()}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["params"] = [mapping.get(p, p) for p in group["params"]]
    return model


def decayed(model):
    decay, rest = [], []
    for param in model.parameters():
        (decay if param.ndim > 1 else rest).append(param)
    return [{"params": decay}, {"params": rest, "weight_decay": 0.0}]


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    sgd = torch.optim.SGD(decayed(net), lr=0.1)
    print(len(optimizer_over_groups().param_groups), moved(net, [sgd], torch.device("cpu")))
