"""Liveness: which names are bound and dead at a marked call, in every form of control flow."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchmemlint import source
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.graph import Op
from torchmemlint.flow.liveness import Held, Weight, held_across, liveness
from torchmemlint.flow.program import Program
from torchmemlint.index.build import index_source, module_name
from torchmemlint.index.project import ProjectIndex

HEAD = """
import torch
from torch import nn

def f(net: nn.Module, x: torch.Tensor, flag, xs):
"""
AT = "net(x)  # here"


def interpreted(text: str, folder: Path, function: str = "f") -> FunctionFlow:
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    module, package = module_name(str(path))
    index = index_source(source.read(str(path)), module, package)
    program = Program(ProjectIndex({str(path): index}))
    info = next(info for info in index.functions.values() if info.qualname == function)
    flow = program.flow(info)
    assert flow is not None
    return flow


def held(body: str, folder: Path) -> set[str]:
    """The names that are held dead at the call in the line marked `here`."""
    flow = interpreted(HEAD + textwrap.indent(textwrap.dedent(body), "    "), folder)
    return {h.path for h in at_the_mark(flow)}


def at_the_mark(flow: FunctionFlow) -> list[Held]:
    """What is held dead at the call in the line marked `here`."""
    (peak,) = [op for op in flow.named("module") if "# here" in line_of(flow, op)]
    return held_across(flow, peak)


def line_of(flow: FunctionFlow, op: Op) -> str:
    start, _ = flow.unit.locations(op.node)
    return flow.unit.source.data.decode().splitlines()[start.row - 1]


CASES = {
    "never read": ("y = net(x)\nnet(x)  # here", {"y"}),
    "read before": ("y = net(x)\nprint(y.sum())\nnet(x)  # here", {"y"}),
    "read behind": ("y = net(x)\nnet(x)  # here\nreturn y", set()),
    "read in the same statement": ("y = net(x)\nz = y + net(x)  # here", set()),
    "deleted": ("y = net(x)\ndel y\nnet(x)  # here", set()),
    "deleted behind": ("y = net(x)\nnet(x)  # here\ndel y", {"y"}),
    "bound anew by the peak": ("y = net(x)\ny = net(x)  # here\nreturn y", {"y"}),
    "bound to a number": ("y = net(x)\ny = y.sum().item()\nnet(x)  # here", set()),
    "underscore": ("_, y = net(x), net(x)\nnet(x)  # here\nreturn y", {"_"}),
    "parameter": ("net(x)  # here", set()),
    "alias lives": ("y = net(x)\nz = y\nnet(x)  # here\nreturn z", set()),
    "view lives": ("y = torch.relu(net(x))\nz = y[:, 0]\nnet(x)  # here\nreturn z", set()),
    "copy lives": ("with torch.no_grad():\n    y = net(x)\n    z = y[:, 0].clone()\nnet(x)  # here\nreturn z", {"y"}),
    "list lives": ("y = net(x)\nkept = [y]\nnet(x)  # here\nreturn kept", set()),
    "graph lives": ("y = net(x)\nz = y.square().mean()\nnet(x)  # here\nz.backward()", set()),
    "graph is freed": ("y = net(x)\nz = y.square().mean()\nz.backward()\nnet(x)  # here\nreturn z.item()", {"y"}),
    "one branch reads": ("y = net(x)\nnet(x)  # here\nif flag:\n    return y", set()),
    "bound in one branch": ("if flag:\n    y = net(x)\nnet(x)  # here", {"y"}),
    "deleted in one branch": ("y = net(x)\nif flag:\n    del y\nnet(x)  # here", {"y"}),
    "carried round the loop": ("for i in xs:\n    net(x)  # here\n    y = net(x)", {"y"}),
    "read at the head of the loop": ("y = net(x)\nfor i in xs:\n    z = y + 1\n    net(x)  # here", {"z"}),
    "while test reads": ("y = net(x)\nwhile y.sum() > 0:\n    net(x)  # here", set()),
    "left by break": ("for i in xs:\n    y = net(x)\n    break\nnet(x)  # here\nreturn y", set()),
    "continue skips the read": (
        "for i in xs:\n    y = net(x)\n    if flag:\n        continue\n    print(y)\nnet(x)  # here",
        {"y"},
    ),
    "else of a loop": ("y = net(x)\nfor i in xs:\n    net(x)  # here\nelse:\n    print(y)", set()),
    "handler reads": ("y = net(x)\ntry:\n    net(x)  # here\nexcept ValueError:\n    print(y)", set()),
    "finally reads": ("y = net(x)\ntry:\n    net(x)  # here\nfinally:\n    print(y)", set()),
    "nested function reads": ("y = net(x)\ndef g():\n    return y\nnet(x)  # here\nreturn g", set()),
    "lambda reads": ("y = net(x)\ng = lambda: y\nnet(x)  # here\nreturn g", set()),
    "comprehension reads": ("y = net(x)\nnet(x)  # here\nreturn [y for _ in range(2)]", set()),
    "locals": ("y = net(x)\nnet(x)  # here\nreturn locals()", set()),
    "locals before": ("y = net(x)\nprint(locals())\nnet(x)  # here", {"y"}),
    "walrus": ("if (y := net(x)).sum() > 0:\n    net(x)  # here", {"y"}),
    "conditional operand": ("y = net(x)\nnet(x)  # here\nreturn flag and y", set()),
    "match reads": ("y = net(x)\nnet(x)  # here\nmatch flag:\n    case 1:\n        return y", set()),
    "augmented": ("y = net(x)\nnet(x)  # here\ny += 1\nreturn y", set()),
    "returned first": ("y = net(x)\nif flag:\n    return y\nnet(x)  # here", {"y"}),
    "kept on an object": ("y = net(x)\nxs.last = y\nnet(x)  # here", set()),
    "global": ("global y\ny = net(x)\nnet(x)  # here", set()),
}


@pytest.mark.parametrize("name", CASES)
def test_names_held_at_a_call(name: str, tmp_path: Path) -> None:
    body, expected = CASES[name]
    assert held(body, tmp_path) == expected


def test_weights(tmp_path: Path) -> None:
    body = """
    other = nn.Linear(3, 3)
    other(x)
    table = torch.cat([net(part) for part in x.split(2)])
    attached = net(x)
    with torch.no_grad():
        plain = net(x)
    loss = nn.functional.mse_loss(net(x), x)
    loss.backward()
    label = net(x).argmax()
    batch = torch.zeros(3)
    net(x)  # here
    """
    assert {h.path: h.weight for h in at_the_mark(interpreted(HEAD + body, tmp_path))} == {
        "other": Weight.MODEL,
        "table": Weight.DATASET,
        "attached": Weight.GRAPH,
        "plain": Weight.ACTIVATION,
        "batch": Weight.BATCH,
    }


def test_module_level_names_that_a_function_reads_are_alive(tmp_path: Path) -> None:
    text = """
import torch
from torch import nn
net, x = nn.Linear(2, 2), torch.zeros(2, 2)
used = net(x)
unused = net(x)
shadowed = net(x)
def f():
    shadowed = 1
    return used, shadowed
net(x)  # here
"""
    assert {h.path for h in at_the_mark(interpreted(text, tmp_path, ""))} == {"unused", "shadowed"}


def test_the_timeline_grows_with_the_lines(tmp_path: Path) -> None:
    def points(count: int) -> int:
        lines = "".join(f"    y{i} = net(x)\n    print(y{i})\n" for i in range(count))
        known = liveness(interpreted(HEAD + lines, tmp_path))
        assert {h.path for h in known.held(known.flow.named("module")[-1])} == {f"y{i}" for i in range(count - 1)}
        return len(known.timeline.points)

    assert points(80) < 2.1 * points(40)
