"""A NumPy network in a project that also uses torch: no graph anywhere."""

import numpy as np
import torch


class Dense:
    def __init__(self, a, b, rng):
        self.w = rng.normal(size=(a, b))

    def forward(self, x):
        self.x = x
        self.out = x @ self.w
        return self.out

    def backward(self, grad, lr):
        dx = grad @ self.w.T
        self.w -= lr * self.x.T @ grad
        return dx


def train(model, data, labels, epochs=3):
    losses, outputs, total = [], [], 0.0
    for _ in range(epochs):
        out = model.forward(data)
        loss = np.mean((out - labels) ** 2)
        model.backward(2 * (out - labels) / len(data), 0.1)
        losses.append(loss)
        outputs.append(out)
        total += loss
    return losses, np.stack(outputs).mean(), total


def to_torch(rows):
    return torch.tensor(np.asarray(rows))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(train(Dense(4, 2, rng), rng.normal(size=(5, 4)), rng.normal(size=(5, 2))), to_torch([[1.0]]))
