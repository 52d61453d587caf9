"""`torch.tensor` of lists, numbers, arrays and comprehensions."""

import numpy as np
import torch


class Samples(torch.utils.data.Dataset):
    def __init__(self, rows, labels):
        self.x = torch.tensor(rows, dtype=torch.float32)
        self.y = torch.tensor(labels)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def collate(batch):
    lengths = torch.tensor([len(tokens) for tokens, _ in batch])
    padded = torch.zeros(len(batch), int(lengths.max()), dtype=torch.long)
    for row, (tokens, _) in enumerate(batch):
        padded[row, : len(tokens)] = torch.tensor(tokens)
    return padded, lengths, torch.tensor([label for _, label in batch])


def discounted(rewards, gamma=0.9):
    returns, value = [], 0.0
    for reward in reversed(rewards):
        value = reward + gamma * value
        returns.insert(0, value)
    returns = torch.tensor(returns)
    return (returns - returns.mean()) / (returns.std() + 1e-6)


def from_array(values: np.ndarray, device):
    return torch.tensor(values, device=device), torch.as_tensor(values), torch.from_numpy(values)


def copy_to_change(values):
    grid = torch.as_tensor(values).clone()
    grid[0] = -1
    return grid


if __name__ == "__main__":
    print(len(Samples([[1, 2]], [0])), collate([([1, 2], 0), ([3], 1)]), discounted([1.0, 0.0, 1.0]))
    print(from_array(np.ones(2), "cpu"), copy_to_change(torch.ones(2)))
