"""Copies that look needless: statistics updated in place, buffers of collectives, views that ask for memory."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class AdaptiveNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))

    def forward(self, x):
        b, c, h, w = x.size()
        mean, var = self.running_mean.repeat(b), self.running_var.repeat(b)
        out = F.batch_norm(x.contiguous().view(1, b * c, h, w), mean, var, None, None, True)
        return out.view(b, c, h, w)


def merge_heads(y, b, t, c):
    return y.transpose(1, 2).contiguous().view(b, t, c)


def columns(data, bsz):
    data = data.narrow(0, 0, data.size(0) // bsz * bsz)
    return data.view(bsz, -1).t().contiguous()


def paint_hole(images, hole):
    filled = images.clone()
    filled[:, :, 1:2, 1:2] = hole
    return torch.cat((images.data, filled.data), -2)


def optimise_image(content, steps, score):
    target = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([target], lr=0.1)
    for _ in range(steps):
        loss = score(target, content)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return target.detach()


def old_and_new(model, optimizer, loss):
    before = [p.detach().clone() for p in model.parameters()]
    loss.backward()
    optimizer.step()
    return max((p - q).abs().max().item() for p, q in zip(model.parameters(), before))


def greedy(model, tokens, steps):
    for _ in range(steps):
        logits = model(tokens)[:, -1]
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
    return tokens


def shifted(x):
    x[1:] = x[:-1].clone()
    return x


class Averages:
    """Where the weights are on the wanted device already, `.to()` gives the weights themselves."""

    def __init__(self, model, device):
        self.start = []
        for _, param in model.named_parameters():
            self.start.append(param.detach().clone().to(device))


def box_from_array(box):
    """`from_numpy` shares the caller's memory, and the box is changed in place."""
    array = torch.from_numpy(np.asarray(box)).clone()
    array[2:] -= array[:2]
    return array


if __name__ == "__main__":
    print(len(Averages(nn.Linear(2, 1), "cpu").start), box_from_array(np.arange(4)))
    print(AdaptiveNorm(2)(torch.randn(2, 2, 3, 3)).shape, merge_heads(torch.ones(1, 2, 3, 4), 1, 3, 8).shape)
    print(columns(torch.arange(7), 2), paint_hole(torch.ones(1, 1, 3, 3), 0.0).shape, shifted(torch.arange(3)))
    print(optimise_image(torch.ones(2), 2, F.mse_loss))
    net = nn.Linear(2, 1)
    print(old_and_new(net, torch.optim.SGD(net.parameters(), lr=0.1), net(torch.ones(1, 2)).sum()))
    with torch.no_grad():
        print(greedy(lambda t: F.one_hot(t, 5).float(), torch.ones(1, 1, dtype=torch.long), 2))
