"""Collections of device results that are meant: a retrieval index, a decoder's states, short lists."""

import torch
from torch import nn


class Index:
    def __init__(self, encoder, device):
        self.encoder, self.device = encoder.to(device).eval(), device
        self.rows = None

    @torch.no_grad()
    def build(self, loader):
        rows = [self.encoder(x.to(self.device)) for x in loader]
        self.rows = torch.cat(rows)

    @torch.no_grad()
    def search(self, query):
        return (self.encoder(query.to(self.device)) @ self.rows.T).topk(2).indices.cpu()


class Decoder(nn.Module):
    def __init__(self, width, vocabulary):
        super().__init__()
        self.cell, self.out = nn.GRUCell(width, width), nn.Linear(width, vocabulary)
        self.embed = nn.Embedding(vocabulary, width)

    def forward(self, first, steps):
        state, token, logits = torch.zeros(len(first), self.cell.hidden_size), first, []
        for _ in range(steps):
            state = self.cell(self.embed(token), state)
            logits.append(self.out(state))
            token = logits[-1].argmax(dim=-1)
        return torch.stack(logits, dim=1)


def in_parts(model, x, parts):
    return torch.cat([model(chunk) for chunk in x.chunk(parts)])


@torch.no_grad()
def whole(model, x, device):
    return in_parts(model.to(device).eval(), x.to(device), 2).cpu().numpy()


@torch.no_grad()
def ensemble(models, x, device):
    outputs = []
    for model in models:
        model.eval()
        outputs.append(model(x.to(device)).softmax(dim=-1))
    return torch.stack(outputs).mean(dim=0).cpu()


@torch.inference_mode()
def generate(model, tokens, steps):
    model.eval()
    for _ in range(steps):
        following = model(tokens[:, -1], 1)[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, following], dim=1)
    return tokens.tolist()


@torch.no_grad()
def outlines(model, loader, trace, device):
    """What code out of sight gives may be anything: here rows of host numbers."""
    model.eval().to(device)
    drawn = []
    for x in loader:
        masks = model(x.to(device))
        drawn.append([trace(m) for m in reversed(masks)])
    return drawn


def drive():
    device = torch.device("cpu")
    index = Index(nn.Linear(8, 4), device)
    index.build([torch.randn(4, 8) for _ in range(3)])
    decoder = Decoder(8, 16)
    ensemble([nn.Linear(8, 2), nn.Linear(8, 2)], torch.randn(2, 8), device)
    return index.search(torch.randn(2, 8)), generate(decoder, torch.zeros(2, 1, dtype=torch.long), 3)


def wished(labels, dim):
    targets = []
    for i in range(dim):
        target = labels.clone()
        target[:, i] = 1
        targets.append(target.to("cuda"))
    return targets


class Painter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, image, style):
        style = style.view(style.size(0), style.size(1), 1, 1).expand(-1, -1, image.size(2), image.size(3))
        return torch.tanh(self.layer(torch.cat([image, style], 1)))


class Translator:
    def __init__(self, loader, device):
        self.net, self.loader, self.device = Painter().to(device), loader, device

    def test(self):
        with torch.no_grad():
            for i, (real, labels) in enumerate(self.loader):
                real = real.to(self.device)
                shown = [real]
                for target in wished(labels, 5):
                    shown.append(self.net(real, target))
                print(i, torch.cat(shown, dim=3).cpu().numpy().mean())
