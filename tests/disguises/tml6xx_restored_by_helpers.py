"""Checkpoints that a helper restores and returns, that are copied in by hand, or that a library's trainer outlasts."""

import torch
from torch import nn
from trainers import Engine, Trainer


def resume(path, model, optimizer=None):
    checkpoint = torch.load(path)  # expect: TML601
    model.load_state_dict(checkpoint["model"])
    if optimizer is not None:
        optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint


def run_epoch(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()


def main(path, loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = resume(path, model, optimizer)  # expect: TML602
    for _ in range(found["epoch"], 10):
        run_epoch(model, loader, optimizer)


class Solver:
    def __init__(self, path):
        self.model = nn.Linear(3, 3).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.path = path

    def restore(self):
        saved = torch.load(self.path)  # expect: TML601
        self.model.load_state_dict(saved["model"])
        return saved

    def train(self, loader):
        saved = self.restore()  # expect: TML602
        print(saved["step"])
        run_epoch(self.model, loader, self.optimizer)


def by_engine(path, loader):
    model = nn.Linear(3, 3).cuda()
    state = torch.load(path)  # expect: TML602, TML601
    model.load_state_dict(state["model"])

    def step(sample):
        return nn.functional.cross_entropy(model(sample[0]), sample[1])

    engine = Engine()
    engine.train(step, loader, 10)


def by_trainer(path, loader):
    model = nn.Linear(3, 3).cuda()
    state = torch.load(path)  # expect: TML602, TML601
    model.load_state_dict(state["model"])
    Trainer(gpus=1).fit(model, loader)


def by_hand(path, weights, loader):
    optimizer = torch.optim.SGD(weights.values(), lr=0.1)
    saved = torch.load(path)  # expect: TML602
    for name, weight in weights.items():
        weight.data.copy_(saved["weights"][name])
    optimizer.load_state_dict(saved["optimizer"])
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(nn.functional.linear(x, weights["w"]), y).backward()
        optimizer.step()


class Sampler(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    @torch.no_grad()
    def forward(self, x):
        return self.model(x)


def placed_with_its_wrapper(path, noise):
    model = nn.Linear(3, 3)
    sampler = Sampler(model).to("cuda")
    saved = torch.load(path)  # expect: TML602, TML601
    model.load_state_dict(saved["average"])
    return [sampler(x).cpu() for x in noise]


def placed_with_its_replicas(path, loader):
    model = nn.Linear(3, 3)
    replicas = nn.DataParallel(model)
    replicas.cuda()
    saved = torch.load(path)  # expect: TML602, TML601
    model.load_state_dict(saved)
    for x in loader:
        replicas(x).sum().backward()


def switched_and_handed_out(path):
    model = nn.Linear(3, 3).cuda()
    replicas = nn.DataParallel(model)
    state = torch.load(path)  # expect: TML601
    replicas.load_state_dict(state)
    replicas.train()
    return replicas
