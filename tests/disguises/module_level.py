"""Names at the top of the module, by method, by item, by `global`."""

import torch
import torch.nn.functional as F
from torch import nn

HISTORY = []
LATEST = {}
previous = None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.body(x))
        LATEST["hidden"] = h  # expect: TML104
        return self.head(h)


def step(model, optimizer, x, y):
    global previous
    out = model(x)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    HISTORY.append(out.softmax(1).amax(1).mean())  # expect: TML104
    previous = out  # expect: TML104
    return loss.item()


if __name__ == "__main__":
    net = Net()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        print(step(net, sgd, torch.randn(5, 4), torch.arange(5) % 3))
    print([float(h) for h in HISTORY])
