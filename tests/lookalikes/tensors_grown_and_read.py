"""Sequences that grow by what the model made of all of them so far."""

import torch
from torch import nn


class NumberModel(nn.Module):
    def __init__(self, net, longest):
        super().__init__()
        self.net = net
        self.longest = longest

    @torch.no_grad()
    def generate(self, tokens, numbers, length):
        self.net.eval()
        out, grown = tokens, numbers
        for _ in range(length):
            logits, number = self.net(out[:, -self.longest :], grown[:, -self.longest :])
            out = torch.cat((out, torch.multinomial(logits[:, -1].softmax(-1), 1)), dim=-1)
            grown = torch.cat((grown, number[:, -1:]), dim=-1)
        return out[:, tokens.shape[1] :], grown[:, numbers.shape[1] :]
