"""Functions that are chosen, handed over and called back, with grad off or for a backward."""

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

    @torch.no_grad()
    def flattened(self, x):
        return self.trunk(x).flatten(1)

    @torch.no_grad()
    def rows(self, x):
        return self.trunk(x)[:, 0]


def extract(model, loader, mode):
    model.eval()
    encode = model.rows if mode == "rows" else model.flattened
    return torch.cat([encode(x).cpu() for x in loader])


def unsure(model, loader, mode):
    model.eval()
    encode = model.pooled if mode == "pool" else model.flattened
    found = []
    for x in loader:
        found.append(encode(x).cpu())
    return torch.cat(found)


def features(loader, mode):
    model = Encoder(8)
    unsure(model, loader, mode)
    return extract(model, loader, mode)


@torch.no_grad()
def under_no_grad(loader, step):
    return [step(x, y) for x, y in loader]


def walked(loader, step, optimizer):
    for x, y in loader:
        loss = step(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train(model, train_loader, val_loader):
    optimizer = torch.optim.Adam(model.parameters())

    def step(x, y):
        return F.cross_entropy(model(x), y)

    def test(x, y):
        logits = model(x)
        return F.cross_entropy(logits, y)

    for epoch in range(10):
        model.train()
        walked(train_loader, step, optimizer)
        model.eval()
        tested = under_no_grad(val_loader, test)
        print(epoch, float(sum(tested) / len(tested)))


def evaluate(model, loader, accelerator, optimizer):
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
    for batch in loader:
        outputs = model(**batch)
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    losses = []
    for batch in loader:
        with torch.no_grad():
            outputs = model(**batch)
        losses.append(accelerator.gather_for_metrics(outputs.loss.repeat(8)))
    print(torch.cat(losses).mean().item())
