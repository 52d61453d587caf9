"""Programs that look wrong and are right, and programs that look right and are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import findings, marks
from markers import parse

from torchmemlint.findings import Severity

HERE = Path(__file__).parent
LOOKALIKES = sorted((HERE / "lookalikes").glob("*.py"))
QUIET = sorted((HERE / "lookalikes" / "quiet").glob("*.py"))
DISGUISES = sorted((HERE / "disguises").glob("*.py"))


def label(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", LOOKALIKES, ids=label)
def test_lookalikes_are_silent(path: Path) -> None:
    found = findings(path.read_text(encoding="utf-8"), path, hints=False)
    assert [f"{d.row}: {d.code} {d.message}" for d in found] == []


@pytest.mark.parametrize("path", QUIET, ids=label)
def test_no_hint_either_where_the_name_says_so(path: Path) -> None:
    code = path.stem.partition("_")[0].upper()
    found = findings(path.read_text(encoding="utf-8"), path)
    assert [f"{d.row}: {d.code} {d.message}" for d in found if d.code == code or d.severity is not Severity.HINT] == []


@pytest.mark.parametrize("path", DISGUISES, ids=label)
def test_disguises_are_seen_through(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    markers = parse(text)
    assert markers.expected
    difference = markers.compare(marks(findings(text, path), markers.codes))
    assert not difference, difference


NEW_WORK = [
    *sorted((HERE.parent / "fixtures").glob("TML101-*/list_append.py")),
    HERE / "disguises" / "work_after_backward.py",
]


@pytest.mark.parametrize("path", NEW_WORK, ids=label)
def test_work_after_the_backward_saves_batches_anew(path: Path) -> None:
    """Only averages of scalars are cheap then: a score computed from what the forward returned keeps that."""
    found = findings(path.read_text(encoding="utf-8"), path, hints=False)
    assert [d.severity for d in found] == [Severity.ERROR]


RESUMED = """\
import torch
from torch import nn


def train(path, loader, optimizer):
    net = nn.Linear(3, 3).cuda()
    state = torch.load(path)
    net.load_state_dict(state)
    for step, x in enumerate(loader):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        {later}
    return net
"""


@pytest.mark.parametrize(
    ("later", "until"),
    [
        ("print(step)", "until the function returns"),
        ("state = {'net': net.state_dict(), 'step': step}", "until another value is bound"),
    ],
)
def test_a_checkpoint_is_held_until_its_name_is_bound_anew(later: str, until: str) -> None:
    found = findings(RESUMED.format(later=later), Path("resumed.py"), ("TML602",))
    assert [until in d.message for d in found] == [True]
