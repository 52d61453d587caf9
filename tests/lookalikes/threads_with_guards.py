"""What other threads run turns grad off itself: by a decorator, by a guard around the function that is handed over."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class Scorer:
    def __init__(self, net):
        self.net = net.eval()
        self.pool = ThreadPoolExecutor(2)

    @torch.no_grad()
    def guarded(self, rows):
        return self.net(rows)

    def plain(self, rows):
        return self.net(rows)

    def score_all(self, batches):
        with torch.no_grad():
            first = list(self.pool.map(self.guarded, batches))
            futures = [self.pool.submit(torch.no_grad()(self.plain), rows) for rows in batches]
        return torch.cat(first).sum().item() + sum(future.result().sum().item() for future in futures)


if __name__ == "__main__":
    print(Scorer(nn.Linear(3, 2)).score_all([torch.randn(2, 3)] * 3))
