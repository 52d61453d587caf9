import random

import numpy as np
import torch


class ReplayMemory:
    def __init__(self, size):
        self.size = size
        self.data = []
        self.pos = 0

    def push(self, *transition):
        if len(self.data) < self.size:
            self.data.append(None)
        self.data[self.pos] = transition
        self.pos = (self.pos + 1) % self.size

    def __len__(self):
        return len(self.data)

    def sample(self, n, device):
        obs, action, reward, next_obs, done = zip(*random.sample(self.data, n))
        as_tensor = lambda a: torch.as_tensor(np.array(a), dtype=torch.float32, device=device)
        return as_tensor(obs), as_tensor(action), as_tensor(reward)[:, None], as_tensor(next_obs), as_tensor(done)[:, None]
