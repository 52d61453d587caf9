import torch
from episodes import episode
from evaluation import Evaluation
from torch import nn


def fit(model, loader, step, callback, epochs=3):
    optimizer = torch.optim.Adam(model.parameters())
    loss_fn = nn.CrossEntropyLoss()
    for _ in range(epochs):
        for x, y in loader:
            loss, _ = step(model, optimizer, loss_fn, x.cuda(), y.cuda(), shots=2, train=True)
            print(loss.item())
        print(callback.on_epoch_end(model, optimizer, loss_fn))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)


data = [(torch.randn(5, 4), torch.tensor([0, 1, 1]))]
fit(Network().cuda(), data, episode, Evaluation(episode, data, 2))
