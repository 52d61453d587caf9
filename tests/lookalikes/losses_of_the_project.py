"""A loss that inherits from one of PyTorch has no parameters either."""

from torch import nn
import torch


class MaskedCE(nn.CrossEntropyLoss):
    def forward(self, pred, label, valid):
        weights = torch.ones_like(label)
        self.reduction = "none"
        unweighted = super(MaskedCE, self).forward(pred.permute(0, 2, 1), label)
        return (unweighted * weights).mean(dim=1)


def train(net, data_iter, lr, epochs, device):
    net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    loss = MaskedCE()
    net.train()
    for epoch in range(epochs):
        for batch in data_iter:
            optimizer.zero_grad()
            X, n, Y, m = [x.to(device) for x in batch]
            Y_hat, _ = net(X, Y, n)
            l = loss(Y_hat, Y, m)
            l.sum().backward()
            optimizer.step()
