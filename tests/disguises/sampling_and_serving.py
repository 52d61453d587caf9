"""Forwards for samples, previews, embeddings and answers, none of which is ever differentiated."""

import numpy as np
import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, z):
        return self.net(z)


def preview(generator, path):
    generator.eval()
    images = generator(torch.randn(4, 2))  # expect: TML201
    pixels = (images.clamp(-1, 1) * 127.5 + 127.5).to(torch.uint8)
    generator.train()
    return f"{path}: {pixels.float().mean().item():.1f}"


def generate(model, head, token, steps=4):
    model.eval()
    state, words = torch.zeros(1, 8), []
    for _ in range(steps):
        state = model(token, state)  # expect: TML201
        token = head(state)
        words.append(token.argmax().item())
    return words


def search(encoder, documents, query):
    encoder.eval()
    matrix = np.stack([encoder(d).detach().numpy() for d in documents])  # expect: TML201
    return int((matrix @ encoder(query).detach().numpy()).argmax())


class Service:
    def __init__(self, model):
        self.model = model
        self.model.eval()

    def answer(self, request):
        logits = self.model(torch.tensor(request))  # expect: TML201
        return {"label": int(logits.argmax()), "score": float(logits.max())}


if __name__ == "__main__":
    encoder = nn.Linear(4, 2)
    print(preview(Generator(), "a.png"), generate(nn.GRUCell(4, 8), nn.Linear(8, 4), torch.zeros(1, 4)))
    print(search(encoder, [torch.randn(4)] * 3, torch.randn(4)), Service(encoder).answer([1.0, 0.0, 0.0, 0.0]))
