"""Everything that puts a value into a container."""

import queue
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn


def monitor(model, optimizer, loader):
    recent, newest, front, plus, seen = deque(maxlen=100), deque(), [], [], set()
    latest, pairs, slots = {}, [], [None] * 4
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).std(1).mean()
        recent.append(margin)  # expect: TML101
        newest.appendleft(margin)  # expect: TML101
        front.insert(0, margin)  # expect: TML101
        plus += [margin]  # expect: TML101
        seen.add(margin)  # expect: TML101
        latest.update({step: margin})  # expect: TML101
        pairs.extend([margin, loss.item()])  # expect: TML101
        slots[step % 4] = margin  # expect: TML101
    numbers = [float(v) for v in (*recent, *newest, *front, *plus, *seen, *latest.values(), *pairs)]
    return sum(numbers), [float(s) for s in slots if s is not None]


def to_queue(model, optimizer, loader):
    waiting = queue.Queue()
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        waiting.put(out.softmax(1).amax())  # expect: TML101
    return [waiting.get().item() for _ in range(waiting.qsize())]


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(monitor(net, sgd, data), to_queue(net, sgd, data))
