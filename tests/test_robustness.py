"""Broken, cut and deeply nested programs: checking and fixing them raises nothing and reports no error of its own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import libcst as cst
import pytest
from benchmarking import script

from torchmemlint.api import check_source
from torchmemlint.config import Config
from torchmemlint.engine import Session

SEEDS = 150
BLOCK = 15
mutants = script("mutants")


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_mutants_are_checked_and_fixed(first: int) -> None:
    for seed in range(first, first + BLOCK):
        text, done = mutants.mutant(seed)
        assert mutants.trouble(text) is None, f"seed {seed}: {done}"


def test_mutations_leave_enough_that_parses() -> None:
    assert sum(mutants.parses(mutants.mutant(seed)[0]) for seed in range(SEEDS)) > SEEDS / 3


def test_what_is_wrong_is_told() -> None:
    assert mutants.trouble("import torch\n") is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutants, "check_source", lambda *_: 1 / 0)
        assert "ZeroDivisionError" in mutants.trouble("import torch\n")


HUGE = {
    "branches": "".join(f"    if x == {i}:\n        y = net(x) + {i}\n" for i in range(1000)),
    "arms": "    if x == 0:\n        y = 0\n"
    + "".join(f"    elif x == {i}:\n        y = {i}\n" for i in range(1, 900)),
    "terms": f"    y = net(x){' + x' * 2000}\n    kept.append(y)\n",
    "calls": f"    y = net(x){'.relu()' * 900}\n    kept.append(y)\n",
    "literal": f"    y = [{'1, ' * 20_000}]\n    kept.append(net(x))\n",
    "text": f"    y = {'s' * 500_000!r}\n    kept.append(net(x))\n",
    "names": "".join(f"    größe_{i}_мера = net(x)\n" for i in range(1500)),
    "lists": f"    y = {'[' * 150}x{']' * 150}\n    kept.append(net(y))\n",
    "nested": "".join(f"{' ' * (i + 4)}for i{i} in x:\n" for i in range(17)) + " " * 21 + "kept.append(net(x))\n",
    "functions": "".join(f"{' ' * (i + 4)}def g{i}(z):\n" for i in range(60)) + " " * 64 + "return net(x)\n",
    "closures": "".join(f"    def g{i}(z):\n        return net(z) + {i}\n    y = g{i}(x)\n" for i in range(400)),
}
PROGRAM = """\
import torch

net = torch.nn.Linear(4, 1)


def evaluate(loader):
    kept = []
    for x in loader:
        kept.append(net(x))
{body}    print(len(kept))
"""


@pytest.mark.parametrize("shape", HUGE)
def test_huge_functions_are_checked_within_bounds(shape: str) -> None:
    """What is known of the rest of the function is told, or that the file is nested too deeply to be parsed."""
    text = PROGRAM.format(body=textwrap.indent(HUGE[shape], "    "))
    found = {d.code for d in check_source(text, "huge.py")}
    assert found & {"TML101", "TML000"}
    assert "TML999" not in found
    assert ("TML000" in found) is not mutants.parses(text)


def test_indentation_that_libcst_cannot_read_is_passed_over() -> None:
    head = "def g(net: nn.Module, xs):\n        rows = []\n        for x in xs:\n"
    mixed = f"{head}\t             rows.append(net(x))\n        print(rows)\n"
    sound = f"\n\n{head}                rows.append(net(x))\n        print(rows)\n"
    compile(mixed, "a.py", "exec")
    with pytest.raises(cst.ParserSyntaxError):
        cst.parse_module(mixed)
    found = check_source(f"from torch import nn\n{mixed}{sound}", "a.py", Config(hints=True))
    assert "TML999" not in {d.code for d in found}
    assert {d.row > 7 for d in found} == {True}


def test_a_file_that_changes_during_the_run_is_named(tmp_path: Path) -> None:
    step = "    for x in loader:\n        loss = model(x).sum()\n        loss.backward()\n        losses.append(loss)\n"
    text = f"import torch\n\ndef train(model: torch.nn.Module, loader):\n    losses = []\n{step}    print(losses[0])\n"
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(text)
    with Session(Config(select=("TML101",))) as session:
        session.add([str(tmp_path)])
        (tmp_path / "first.py").write_text(f"# another line\n{text}")
        found = session.check()
    assert [(Path(d.filename).name, d.code) for d in found] == [("first.py", "TML000"), ("second.py", "TML101")]
    assert "has changed while it was checked" in found[0].message
