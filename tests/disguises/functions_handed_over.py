"""Functions that are chosen, handed over and called back: by a helper, by an optimizer, out of a conditional."""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, dim, 7, 4, 3), nn.ReLU(), nn.Conv2d(dim, dim, 3, padding=1))

    def forward(self, x):
        return self.trunk(x)

    def pooled(self, x):
        return self.trunk(x).mean((2, 3))

    def flattened(self, x):
        return self.trunk(x).flatten(1)


def extract(model, loader, mode, device):
    model.eval()
    encode = model.pooled if mode == "pool" else model.flattened
    found, names = [], []
    for x, name in loader:
        out = encode(x.to(device))
        found.append(out)  # expect: TML101
        names.extend(name)
    return torch.cat(found).detach().cpu(), names


def chosen_by_branches(model, loader, mode):
    model.eval()
    if mode == "pool":
        encode = model.pooled
    elif mode == "flat":
        encode = model.flattened
    else:
        raise ValueError(mode)
    found = []
    for x in loader:
        found.append(encode(x))  # expect: TML101
    return torch.cat(found).detach().cpu()


def features(loader, mode):
    model = Encoder(8)
    chosen_by_branches(model, loader, mode)
    return extract(model, loader, mode, torch.device("cpu"))


def over(loader, step, device):
    results = []
    for x, y in loader:
        results.append(step(x.to(device), y.to(device)))
    return results


def train(model, train_loader, val_loader, device):
    optimizer = torch.optim.Adam(model.parameters())

    def train_step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def val_step(x, y):
        logits = model(x)  # expect: TML201
        return F.cross_entropy(logits, y)

    for epoch in range(10):
        model.train()
        trained = over(train_loader, train_step, device)
        model.eval()
        tested = over(val_loader, val_step, device)
        print(epoch, sum(trained) / len(trained), float(sum(tested) / len(tested)))


def train_in_place(model, train_loader, val_loader):
    optimizer = torch.optim.Adam(model.parameters())

    def val_step(x, y):
        return F.cross_entropy(model(x), y)  # expect: TML201

    for epoch in range(10):
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        total = 0
        for x, y in val_loader:
            total += val_step(x, y).item()
        print(epoch, total)


def fit_image(content, steps):
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval().requires_grad_(False)
    target = net(content)
    image = content.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([image])
    trace = []
    for _ in range(steps):

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(net(image), target)
            loss.backward()
            trace.append(loss)  # expect: TML101
            return loss

        optimizer.step(closure)
    return image.detach(), [float(x) for x in trace]
