"""Grad mode is thread-local: what another thread runs records a graph, whatever this thread has switched off."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch import nn


def embed(model, rows):
    return model(rows).norm(dim=1).tolist()  # allow: TML201


def embed_all(model, rows):
    return [embed(model, rows)]


@torch.no_grad()
def submitted(model, batches):
    pool = ThreadPoolExecutor(2)
    futures = [pool.submit(embed, model, rows) for rows in batches]  # expect: TML202
    return [f.result() for f in futures]


class Scorer:
    def __init__(self, net):
        self.net = net.eval()
        self.pool = ThreadPoolExecutor(2)

    def score(self, rows):
        return self.net(rows)

    def score_all(self, batches):
        with torch.no_grad():
            futures = [self.pool.submit(self.score, rows) for rows in batches]  # expect: TML202
            return torch.cat([future.result() for future in futures])


def by_closure(model, batches):
    with torch.inference_mode():
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda rows: model(rows).argmax(1).tolist(), batches))  # expect: TML202


def started(model, rows):
    with torch.no_grad():
        thread = threading.Thread(target=embed_all, args=(model, rows))  # expect: TML202
        thread.start()
    thread.join()


async def awaited(model, rows):
    with torch.no_grad():
        first = await asyncio.to_thread(embed, model, rows)  # expect: TML202
        loop = asyncio.get_running_loop()
        second = await loop.run_in_executor(None, partial(embed, model), rows)  # expect: TML202
    return first + second


if __name__ == "__main__":
    net = nn.Linear(4, 4).eval()
    data = [torch.randn(3, 4) for _ in range(2)]
    print(len(submitted(net, data)), len(by_closure(net, data)), started(net, data[0]))
    print(Scorer(net).score_all(data).shape)
    print(len(asyncio.run(awaited(net, data[0]))))
