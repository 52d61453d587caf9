"""Outputs of training steps are detached, and stay on the device until the epoch's report."""

import torch
from torch import nn


def train(model, criterion, optimizer, loader, device):
    scores, pairs, losses, labels = [], [], [], []
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(out.detach().softmax(1))  # expect: TML401
        pairs.append((out.detach(), y))  # expect: TML401
        losses.append(loss.detach())
        labels.append(out.detach().argmax(1))
    print(torch.cat(scores).cpu().numpy().shape, torch.cat([p[0] for p in pairs]).cpu().numpy().shape)
    return torch.stack(losses).mean().item(), torch.cat(labels).cpu().numpy().mean()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.1), data, "cpu"))
