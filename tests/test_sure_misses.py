"""Places that public code has got wrong and that no hint would do for: each is a warning or an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import findings

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n"
SURE = {
    "one of two loops is under no_grad": (
        "TML201",
        """
class Experiment:
    def test(self, train_loader, test_loader):
        self.model.eval()
        energy = []
        with torch.no_grad():
            for x, _ in train_loader:
                energy.append(self.model(x.to(self.device)).mean(-1).detach().cpu().numpy())
        for x, _ in test_loader:
            outputs = self.model(x.to(self.device))
            energy.append(outputs.mean(-1).detach().cpu().numpy())
        return np.concatenate(energy)
""",
    ),
    "the last step is repeated to be joined": (
        "TML306",
        """
class MovingAverage(nn.Module):
    def forward(self, x, width):
        end = x[:, -1:, :].repeat(1, (width - 1) // 2, 1)
        return torch.cat([x, end], dim=1)
""",
    ),
    "a script runs the model on one file after the other": (
        "TML201",
        """
import os
metric = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.LazyLinear(1)).cuda()
files = os.listdir("images")
for number, name in enumerate(files[:-1]):
    first = torch.tensor(np.load(name))[None].cuda()
    print(name, metric.forward(first - 1).item())
""",
    ),
}


@pytest.mark.parametrize(("code", "text"), SURE.values(), ids=SURE)
def test_no_hint_but_a_warning(code: str, text: str) -> None:
    found = findings(HEAD + text, Path("program.py"), hints=False)
    assert [d.code for d in found] == [code]


HELPER = """\
import unittest

import torch
from torch import nn


class NetTester:
    def __init__(self, parent):
        self.parent = parent

    def create_and_check(self, x):
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        model.eval()
        result = model(x)
        self.parent.assertEqual(result.argmax(-1).tolist(), [0, 1])


class NetTest(unittest.TestCase):
    def test_net(self):
        NetTester(self).create_and_check(torch.rand(2, 3))
"""


@pytest.mark.parametrize(
    ("head", "loud"), [("", []), ("import numpy as np\n", ["TML201"])], ids=["tests", "an evaluation"]
)
def test_what_stands_beside_test_cases_is_a_test(head: str, loud: list[str]) -> None:
    """Run once on little; a file that is only called like one may evaluate a model."""
    text = HELPER if not head else head + HELPER.replace("import unittest\n", "").partition("class NetTest(")[0]
    found = findings(text, Path("test_net.py"), hints=False)
    assert [d.code for d in found] == loud


def test_a_test_that_asserts_runs_little_in_a_loop_too() -> None:
    """Its loops run over settings."""
    text = """\
import itertools
import torch
from torch import nn

def test_kernels():
    for n, d in itertools.product((1, 2), (3, 4)):
        x = torch.rand(n, d, requires_grad=True)
        first, second = nn.Linear(d, 4), nn.Linear(d, 4)
        second.load_state_dict(first.state_dict())
        first(x).sum().backward()
        other = second(x)
        assert other.std().item() > 0
"""
    assert findings(text, Path("test_kernels.py"), hints=False) == []
