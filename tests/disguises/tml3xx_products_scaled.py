"""The product of all pairs of rows is scaled after it is made, through a view or not; attention and small ones are not
meant."""

import torch
import torch.nn.functional as F


def volume(first, second):
    batch, dim, height, width = first.shape
    first, second = first.view(batch, dim, -1), second.view(batch, dim, -1)
    pairs = torch.matmul(first.transpose(1, 2), second)
    pairs = pairs.view(batch, height, width, height, width)
    return pairs / torch.sqrt(torch.tensor(dim).float())  # expect: TML319


def contrast(a, b, temperature=0.1):
    logits = a @ b.t() / temperature  # expect: TML319
    return F.cross_entropy(logits, torch.arange(len(a)))


def in_place(a, b):
    logits = a @ b.T
    logits /= 0.1
    return logits


def first_scaled(a, b, temperature=0.1):
    return (a / temperature) @ b.T


def read_twice(a, b):
    logits = a @ b.T
    return logits * 2.0, logits.argmax(1)


if __name__ == "__main__":
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    print(volume(torch.randn(1, 3, 2, 2), torch.randn(1, 3, 2, 2)).shape, contrast(x, y), in_place(x, y).shape)
    print(first_scaled(x, y).shape, read_twice(x, y)[0].shape)
