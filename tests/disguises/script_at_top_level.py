"""A research script: everything happens in the module body."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [(torch.randn(5, 4), torch.arange(5) % 3) for _ in range(4)]

entropies = []
running = 0.0
for epoch in range(2):
    model.train()
    for x, y in data:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        p = logits.softmax(-1)
        entropies.append(-(p * p.log()).sum(-1).mean())  # expect: TML101
        running += p.amax(1).mean()  # expect: TML102
    model.eval()
    hits = 0
    for x, y in data:
        logits = model(x)  # expect: TML203
        hits += (logits.argmax(-1) == y).sum().item()
    print(epoch, hits, float(sum(entropies)), float(running))
