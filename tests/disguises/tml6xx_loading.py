"""Weights held twice, in other words."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


def renamed_keys(path, batches):
    model = Net().cuda()
    loaded = torch.load(path, map_location="cuda")  # expect: TML602, TML601
    state = {key.removeprefix("module."): value for key, value in loaded.items()}
    model.load_state_dict(state, strict=False)
    return [model(x.cuda()).sum().item() for x in batches]  # expect: TML201


def positional_device(path, device, batches):
    network = Net().to(device)
    blob = torch.load(path, device)  # expect: TML602, TML601
    weights = blob.get("model")
    network.load_state_dict(weights)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for x in batches:
        optimizer.zero_grad()
        network(x.to(device)).sum().backward()
        optimizer.step()


def method_chain(path):
    net = Net().half().cuda().eval()
    net.load_state_dict(torch.load(path)["state"])  # expect: TML601
    return net


def unfreed_by_the_caller(path, device, batches):
    net = Net().to(device)
    state = torch.load(path, map_location=torch.device("cuda", 0))  # expect: TML602, TML601
    net.load_state_dict(state)
    return evaluated(net, batches, device)


@torch.no_grad()
def evaluated(net, batches, device):
    return [net(x.to(device)).sum().item() for x in batches]
