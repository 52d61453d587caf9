"""The same helpers with rows that belong together, one row against all, and pairs whose products are wanted."""

import torch


def energy(x, y):
    return (x * y).sum(-1)


def products(x, y):
    return x * y


def together(a, b):
    return energy(a, b).mean()


def against_one(query, rows):
    return energy(query[None, :], rows).mean()


def same_place(a, b):
    return energy(a[:, None, :], b[:, None, :]).mean()


def all_pairs(a, b):
    return products(a[:, None, :], b[None, :, :]).mean((0, 1))


if __name__ == "__main__":
    a, b = torch.randn(8, 6), torch.randn(8, 6)
    print(together(a, b), against_one(a[0], b), same_place(a, b), all_pairs(a, b))
