"""A retained graph whose result is deleted before anything else runs."""

import torch
from torch import nn


class Layer(nn.Module):
    def forward(self, x):
        return x

    def backward_pass(self, next_out, hidden, grad, other):
        with torch.enable_grad():
            next_out.requires_grad = True
            res = self.feed(next_out)
            res.backward(grad, retain_graph=True)
        with torch.no_grad():
            hidden = hidden - res
            del res
            grad = grad + next_out.grad
        with torch.enable_grad():
            hidden.requires_grad = True
            output = self.attention(hidden_states=hidden).hidden_states
            output.backward(grad, retain_graph=True)
        with torch.no_grad():
            rest = next_out - output
            del output, next_out
            grad = grad + hidden.grad
        return rest, grad
