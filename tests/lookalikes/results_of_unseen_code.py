"""What code out of sight makes of an attached argument is its own affair: it may count, decode or detach."""

import functools

import torch
from torch import nn


class Runner:
    def __init__(self, talker):
        self.talker = talker.eval()
        self.requests = {}

    def post(self, request, hidden):
        codes = self.talker.predict(hidden)
        self.requests.setdefault(request, []).append(codes)

    def run(self, request, x, steps=4):
        for _ in range(steps):
            hidden = self.talker(x)
            self.post(request, hidden)
            hidden.pow(2).mean().backward()
        return torch.stack(self.requests.pop(request))


class Talker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.body(x).tanh()

    @torch.no_grad()
    def predict(self, hidden):
        return self.head(hidden).argmax(-1)


@functools.singledispatch
def decode(rows):
    raise TypeError(rows)


@decode.register
def _(rows: torch.Tensor):
    return rows.argmax(-1).tolist()


def collect(texts, rows):
    texts.append(decode.dispatch(torch.Tensor)(rows))


def transcribe(model, head, batches, optimizer):
    texts = []
    for x in batches:
        scores = head(model(x))
        optimizer.zero_grad()
        scores.pow(2).mean().backward()
        optimizer.step()
        collect(texts, scores)
    return texts


if __name__ == "__main__":
    torch.manual_seed(0)
    net, out = Talker(), nn.Linear(4, 3)
    runner = Runner(net)
    print([tuple(runner.run(i, torch.randn(2, 4)).shape) for i in range(2)])
    sgd = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=0.1)
    print(len(transcribe(net, out, [torch.randn(2, 4)] * 3, sgd)))
