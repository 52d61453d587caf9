"""What a constructor's helper does to the object counts: it freezes, it switches grad mode off, it replaces a layer."""

import torch
from torch import nn


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.history = []
        self._prepare()

    def _prepare(self):
        self._freeze()

    def _freeze(self):
        for parameter in self.net.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        out = self.net(x)
        self.history.append(out)
        return out


class Counts(nn.Module):
    """`reset` puts numbers where a tensor was."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(1)
        self.reset()

    def reset(self):
        self.total = 0.0

    def add(self, loss):
        self.total += loss.item()


def watch(loader):
    frozen = Frozen().eval()
    for x in loader:
        with torch.no_grad():
            frozen(x)


class Player:
    """Everything runs without grad, as the constructor says."""

    def __init__(self, net):
        self.net = net
        self.seen = []
        self._start()
        with torch.no_grad():
            self._warm_up()

    def _start(self):
        torch.set_grad_enabled(False)

    def _warm_up(self):
        self.seen.append(self.net(torch.zeros(1, 8)))


class Distiller:
    """The helper puts the teacher into the optimizer's list."""

    def __init__(self, student: nn.Module):
        self.student = student.cuda()
        self.teacher = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).cuda()
        self.teacher.eval()
        self.groups = [{"params": self.student.parameters()}]
        self._collect()
        self.optimizer = torch.optim.Adam(self.groups)

    def _collect(self):
        self.groups.append({"params": self.teacher.parameters()})

    def step(self, x):
        loss = (self.teacher(self.student(x)) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def _lock(module):
    for parameter in module.parameters():
        parameter.requires_grad_(False)


def lock(module):
    _lock(module)


class Locked(nn.Module):
    """It is frozen two functions down."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.net.eval()
        self._prepare()

    def _prepare(self):
        lock(self)

    def forward(self, x):
        return self.net(x)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.freeze()

    def freeze(self):
        pass

    def forward(self, x):
        return x * self.scale


class Fixed(Scaled):
    """What its base calls does more here."""

    def freeze(self):
        self.fix()

    def fix(self):
        for parameter in self.parameters():
            parameter.requires_grad = False


class Trainer:
    def __init__(self, student: nn.Module):
        self.student = student
        self.locked, self.fixed = Locked().cuda(), Fixed().cuda()
        self.fixed.eval()
        self.optimizer = torch.optim.Adam(self.student.parameters())

    def step(self, x):
        out = self.student(x)
        loss = (self.locked(out) ** 2).mean() + (self.fixed(out) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def evaluate(self, loader):
        return torch.cat([self.locked(x.cuda()).argmax(1).cpu() for x in loader])
