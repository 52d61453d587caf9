"""Helpers join what is on the CPU, labels, one forward's pieces, or features that the device needs at once."""

import torch
from torch import nn


def joined(collected, new):
    if isinstance(collected, (list, tuple)):
        return type(collected)(joined(c, n) for c, n in zip(collected, new))
    return torch.cat((collected, new), dim=0)


def joined_on_host(collected, new):
    return torch.cat((collected, new.cpu()))


@torch.no_grad()
def predict(model, loader, device):
    logits, labels, hosted = None, None, None
    for x in loader:
        out = model(x.to(device))
        logits = out.cpu() if logits is None else joined(logits, out.cpu())
        labels = out.argmax(1) if labels is None else joined(labels, out.argmax(1))
        hosted = out.cpu() if hosted is None else joined_on_host(hosted, out)
    return logits.numpy(), labels.tolist(), hosted.numpy()


@torch.no_grad()
def in_pieces(model, x, device):
    out = None
    for piece in x.chunk(4):
        new = model(piece.to(device))
        out = new if out is None else joined(out, new)
    return out


@torch.no_grad()
def similarities(model, loader, device):
    bank = None
    for x in loader:
        new = model(x.to(device))
        bank = new if bank is None else joined(bank, new)
    return (bank @ bank.t()).argmax(1).tolist()


if __name__ == "__main__":
    net, loader = nn.Linear(3, 2), [torch.randn(2, 3)] * 3
    print(predict(net, loader, "cpu"), in_pieces(net, torch.randn(8, 3), "cpu").shape, similarities(net, loader, "cpu"))
