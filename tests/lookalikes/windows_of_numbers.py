"""Deques, heaps, queues and tables of numbers, shapes and detached host copies."""

import heapq
import queue
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    window, hardest, norms = deque(maxlen=3), [], set()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norms.add(round(float(nn.utils.clip_grad_norm_(model.parameters(), 1.0)), 3))
        optimizer.step()
        window.append(loss.item())
        heapq.heappush(hardest, (loss.item(), i))
        if len(window) == 3 and max(window) - min(window) < 1e-9:
            break
    return list(window), hardest[:1], norms


def monitor(model, optimizer, loader, sink):
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sink.put(loss.detach().cpu().item())
        sink.put(tuple(out.shape))
        sink.put(out.argmax(1).tolist())


def embeddings(model, loader):
    table = {}
    with torch.no_grad():
        for i, (x, _) in enumerate(loader):
            table[i] = model(x).mean(0).cpu().numpy()
    return table


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    q = queue.Queue()
    monitor(net, sgd, data, q)
    print(train(net, sgd, data), q.qsize(), embeddings(net, data))
