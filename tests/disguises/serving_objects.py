"""The constructor puts the network into eval mode; its methods, and its features, run with gradients on."""

import asyncio

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)

    def features(self, x):
        return self.body(x)

    def forward(self, x):
        return self.head(self.features(x))


class Service:
    def __init__(self, weights):
        self.net = Encoder()
        self.net.load_state_dict(weights)
        self.net.eval()

    async def handle(self, request):
        probs = self.net(request).softmax(-1)  # expect: TML201
        return {"label": int(probs.argmax()), "p": float(probs.max())}


class Session:
    def __init__(self, net):
        self.net, self.state = net, None

    def reply(self, ids):
        out, self.state = self.net(ids, self.state)  # expect: TML107, TML201
        return int(out[0, -1].argmax())


class Dialogues:
    def __init__(self):
        self.net = nn.GRU(4, 8, batch_first=True).eval()
        self.sessions = {}

    def handle(self, user, ids):
        return self.sessions.setdefault(user, Session(self.net)).reply(ids)


@torch.no_grad()
def collect(net, loader, device):
    net.to(device)
    kept = []
    for x, _ in loader:
        kept.append(net.features(x.to(device)))  # expect: TML401
    return torch.cat(kept).cpu()


if __name__ == "__main__":
    data = [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    print(asyncio.run(Service(Encoder().state_dict()).handle(torch.randn(4))))
    dialogues = Dialogues()
    print([dialogues.handle("ann", torch.randn(1, 3, 4)) for _ in range(2)])
    print(collect(Encoder(), data, torch.device("cuda" if torch.cuda.is_available() else "cpu")).shape)
