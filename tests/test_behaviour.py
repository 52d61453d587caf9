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


A_NAME_OF_ITS_OWN = """\
import torch
from torch import nn


def test_that_it_comes_back(path):
    model = nn.Linear(3, 3)
    torch.save(model, path)
    model = torch.load(path, weights_only=False)
    assert model(torch.ones(1, 3)).shape == (1, 3)


if __name__ == "__main__":
    model = nn.Linear(3, 3).cuda()
    print(model(torch.ones(1, 3).cuda()))
"""


def test_a_local_module_is_not_where_the_global_one_is() -> None:
    found = findings(A_NAME_OF_ITS_OWN, Path("own.py"), ("TML601",))
    assert [d.severity for d in found if d.severity is not Severity.HINT] == []


EMPTIED = """\
import torch
from torch import nn


def train(net: nn.Linear, other: nn.Linear, loader, scorer):
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        score = scorer.eval({"predicted": net(x)})["score"]
    torch.cuda.empty_cache()
    with torch.no_grad():
        return [other(x).cpu() for x, _ in loader]
"""


def test_what_holds_a_model_is_named_and_not_what_may_hold_a_number() -> None:
    (found,) = findings(EMPTIED, Path("emptied.py"), ("TML404",))
    assert "`optimizer`" in found.message
    assert "`score`" not in found.message
