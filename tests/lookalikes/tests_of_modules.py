"""Tests run small modules to see what comes out."""

from torch import nn
import pickle
import torch
import unittest


class ModuleTest(unittest.TestCase):
    def test_pickle(self):
        model = nn.Linear(5, 5)
        pickle.loads(pickle.dumps(model))

    def test_shapes(self):
        x = torch.randn(4, 16)
        for bias in [True, False]:
            layer = nn.Linear(16, 8, bias=bias)
            assert layer(x).shape == (4, 8)

    def test_steps(self):
        x = torch.randn(4, 2, 7)
        net = nn.RNN(7, 5)
        net.eval()
        whole, _ = net(x)
        steps, state = [], None
        for t in range(x.shape[0]):
            out, state = net(x[t : t + 1], state)
            steps.append(out)
        assert torch.allclose(torch.cat(steps), whole)
