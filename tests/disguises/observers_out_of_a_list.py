"""What keeps the graph is reached through a global list, a base class or an object of unknown origin."""

import torch
import torch.nn.functional as F
from torch import nn

_listening = []


class Channel:
    def __init__(self):
        self.notes = {}

    def take_note(self, values):
        for key, value in values.items():
            self.notes.setdefault(key, []).append(value.clone())  # expect: TML101


def note(values):
    if _listening:
        _listening[-1].take_note(values)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)

    def forward(self, x):
        out = self.body(x)
        note({"spread": out.var()})
        return out


class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def after_step(self, out, loss):
        raise NotImplementedError

    def run(self, loader):
        for x, y in loader:
            out = self.model(x)
            loss = F.huber_loss(out, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.after_step(out, loss)


class Remembering(Loop):
    def __init__(self, model):
        super().__init__(model)
        self.extremes = []

    def after_step(self, out, loss):
        self.extremes.append(out.amax())  # expect: TML101


if __name__ == "__main__":
    _listening.append(Channel())
    loop = Remembering(Regressor())
    loop.run([(torch.randn(5, 4), torch.randn(5, 1))] * 2)
    print(len(loop.extremes), {k: len(v) for k, v in _listening[0].notes.items()})
