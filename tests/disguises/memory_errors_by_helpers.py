"""What the error is, and that the cache is emptied, is told by helpers; the work is split and done again in the block."""

import gc

import torch
import torch.nn as nn
import torch.nn.functional as F


def is_memory_error(error):
    return isinstance(error, RuntimeError) and "out of memory" in str(error)


def collect():
    gc.collect()
    torch.cuda.empty_cache()


class Engine:
    def __init__(self):
        self.net = nn.Linear(32, 32)

    def attempt(self, x, y):
        loss = F.mse_loss(self.net(x), y)
        loss.backward()
        return loss.item()

    def process(self, x, y):
        try:
            return self.attempt(x, y)
        except RuntimeError as error:
            if not is_memory_error(error):
                raise
            collect()
            return sum(self.process(a, b) for a, b in zip(x.chunk(2), y.chunk(2)))  # expect: TML111

    def process_behind(self, x, y):
        try:
            return self.attempt(x, y)
        except RuntimeError as error:
            if not is_memory_error(error):
                raise
        collect()
        return sum(self.process_behind(a, b) for a, b in zip(x.chunk(2), y.chunk(2)))

    def process_logged(self, x, y):
        try:
            return self.attempt(x, y)
        except RuntimeError as error:
            collect()
            print(str(error))
            return None
