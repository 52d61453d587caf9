"""`loss.data[0]`, as programs before PyTorch 0.4 read a loss's number."""

import torch.nn.functional as F
from torch.autograd import Variable


def fit(net, loader, optimizer):
    squared, smooth = [], []
    for data, target in loader:
        data, target = Variable(data), Variable(target)
        optimizer.zero_grad()
        output = net(data)
        loss = F.mse_loss(output, target)
        loss.backward()
        optimizer.step()
        squared.append(loss.data[0])
        smooth.append(F.smooth_l1_loss(output, target).data[0])
    return squared, smooth
