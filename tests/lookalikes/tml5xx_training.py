"""Training steps that keep what they need: accumulated gradients, joint losses, averaged copies, new optimizers."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


def triplet(model: nn.Module, loader: DataLoader):
    """The three passes meet in one distance: their graphs belong together."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        a, p, n = model(x), model(x + 0.1), model(-x)
        loss = F.relu((a - p).square().sum(1) - (a - n).square().sum(1) + 1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def contrastive_over_batches(model: nn.Module, loader: DataLoader):
    """Embeddings of all batches, compared with each other."""
    rows = []
    for x in loader:
        rows.append(model(x))
    z = F.normalize(torch.cat(rows), dim=1)
    F.cross_entropy(z @ z.t(), torch.arange(len(z))).backward()


def parts_of_one_output(model: nn.Module, loader: DataLoader):
    """All heads look at pieces of what one forward gave."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        total = 0.0
        for part, target in zip(model(x).chunk(2, 1), y.chunk(2, 1)):
            total = total + F.mse_loss(part, target)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


def reinforce(policy: nn.Module, loader: DataLoader):
    """The weights of the terms are known only after the episode."""
    scores, rewards = [], []
    for x in loader:
        scores.append(policy(x).log_softmax(1)[:, 0].sum())
        rewards.append(float(x.sum()))
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    (torch.stack(scores) * -(returns - returns.mean())).sum().backward()


def average(model: nn.Module, loader: DataLoader, device):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    shadow = copy.deepcopy(model.state_dict())
    for x in loader:
        optimizer.zero_grad()
        model(x.to(device)).square().mean().backward()
        optimizer.step()
        for name, value in model.state_dict().items():
            shadow[name].mul_(0.9).add_(value, alpha=0.1)
    return shadow


def gan(generator: nn.Module, critic: nn.Module, loader: DataLoader):
    optimizer_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for x in loader:
        with torch.no_grad():
            fake = generator(x)
        optimizer_c.zero_grad()
        (critic(fake).mean() - critic(x).mean()).backward()
        optimizer_c.step()


def perceptual(net: nn.Module, loader: DataLoader):
    features = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()
    for p in features.parameters():
        p.requires_grad = False
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        F.mse_loss(features(net(x)), features(x)).backward()
        optimizer.step()


def members(count, loader: DataLoader):
    models = []
    for _ in range(count):
        model = nn.Linear(4, 4)
        optimizer = torch.optim.Adam(model.parameters(), fused=False, foreach=False)
        for x in loader:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        models.append(model)
    return models


if __name__ == "__main__":
    data, square = DataLoader(torch.randn(4, 4), batch_size=2), nn.Linear(4, 4)
    for train in (triplet, contrastive_over_batches, reinforce):
        train(square, data)
    average(square, data, "cpu")
    gan(nn.Linear(4, 4), nn.Linear(4, 1), data)
    perceptual(nn.Linear(4, 4), data)
    print(len(members(2, data)))
