"""Waste in training code whose objects are parameters without annotations: what is done with them says what they are."""

import copy
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


def called_and_moved(model, loader, optimizer, better):
    model = model.cuda()
    best = None
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        if better(x):
            best = copy.deepcopy(model.state_dict())  # expect: TML503
    model.load_state_dict(best)


class Keeper:
    def __init__(self, model):
        self.model = model.to("cuda")
        self.best_state = None

    def fit(self, loader, optimizer):
        for x in loader:
            self.model(x.to("cuda")).sum().backward()
            optimizer.step()
            self.best_state = copy.deepcopy(self.model.state_dict())  # expect: TML503

    def restore(self):
        self.model.load_state_dict(self.best_state)


def ordered(model, loader, optimizer):
    model = model.cuda()
    best = None
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        best = OrderedDict((k, v.clone()) for k, v in model.state_dict().items())  # expect: TML503
    model.load_state_dict(best)


def parameters_put_back(model, loader, optimizer):
    model = model.cuda()
    kept = [p.data.clone() for p in model.parameters()]  # expect: TML503
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
    for p, old in zip(model.parameters(), kept):
        p.data.copy_(old)


def moved_and_loaded(model, optimizer, path, device):
    model.to(device)
    checkpoint = torch.load(path, map_location=device)  # expect: TML601
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])


def summed_in_a_list(model, batches, optimizer):
    losses = []
    for x, y in batches:
        losses.append(F.mse_loss(model(x), y))  # expect: TML504
    torch.stack(losses).mean().backward()
    optimizer.step()


def every_so_often(model, batches, optimizer, every):
    total = 0.0
    for i, (x, y) in enumerate(batches):
        total += F.mse_loss(model(x), y) / every  # expect: TML504
        if (i + 1) % every == 0:
            total.backward()
            optimizer.step()
            optimizer.zero_grad()
            total = 0.0


def returned_total(model, batches):
    total = torch.zeros(1)
    for x, y in batches:
        total += F.nll_loss(model(x), y)  # expect: TML504
    return total / len(batches)


def walked_by_the_caller(model, batches, optimizer):
    loss = returned_total(model, batches)
    loss.backward()
    optimizer.step()


def by_groups(optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()  # expect: TML501


def by_position(model, optimizer, x, y):
    optimizer.zero_grad(False)  # expect: TML501
    F.mse_loss(model(x), y).backward()
    optimizer.step()


def filled(net: nn.Module):
    for p in net.parameters():
        if p.grad is not None:
            p.grad.fill_(0)  # expect: TML501


class Critic:
    def __init__(self, generator, scorer):
        self.generator, self.scorer = generator, scorer
        self.scorer.eval()  # expect: TML506
        self.optimizer = torch.optim.Adam(self.generator.parameters())

    def step(self, z, text):
        loss = 1 - torch.cosine_similarity(self.scorer(self.generator(z)), text).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


class FeatureLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())[:1].eval()  # expect: TML506

    def forward(self, x, y):
        return (self.net(x) - self.net(y).detach()).abs().mean()


def perceptual(generator, loader):
    criterion = FeatureLoss()
    optimizer = torch.optim.Adam(generator.parameters())
    for x, y in loader:
        loss = criterion(generator(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
