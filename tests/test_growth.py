"""Work grows with the size of a program and with nothing else: counted, not timed, over synthetic projects.

Counted are interpretations, parses and questions asked; a module of a project three times as large may cost no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarking import script

from torchmemlint.config import Config
from torchmemlint.engine import Session
from torchmemlint.findings import Diagnostic
from torchmemlint.flow import function, program
from torchmemlint.flow.questions import Questions

Row = tuple[str, int, int, str]
synthetic = script("synthetic")


@contextmanager
def counting(work: Counter[str]) -> Iterator[None]:
    """Count what the engine does while it goes on doing it."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            (function, "_once"), (program, "function_unit"), (program, "module_unit"), (Questions, "ask"),
        ):  # fmt: skip
            patch.setattr(owner, name, _counted(getattr(owner, name), name, work))
        yield


def _counted(real: Any, name: str, work: Counter[str]) -> Any:
    def call(*given: Any, **named: Any) -> Any:
        work[name] += 1
        return real(*given, **named)

    return call


def checked(folder: Path, jobs: int = 1, order: int = 1) -> list[Diagnostic]:
    """All findings, the files checked in their order or backwards."""
    with Session(Config(hints=True), jobs) as session:
        session.add([str(folder)])
        session.files = session.files[::order]
        return session.check()


def rows(found: list[Diagnostic], folder: Path) -> list[Row]:
    return [(str(Path(d.filename).relative_to(folder)), d.row, d.column, d.code) for d in found]


def work(folder: Path, **shape: int) -> tuple[Counter[str], list[Diagnostic]]:
    """What a project of that shape costs, and its findings."""
    synthetic.write(folder, synthetic.Shape(**shape))
    done: Counter[str] = Counter()
    with counting(done):
        found = checked(folder)
    assert not [d.message for d in found if d.code in ("TML000", "TML999")]
    return done, found


def per_module(done: Counter[str], modules: int) -> dict[str, float]:
    return {name: number / modules for name, number in done.items()}


@pytest.mark.parametrize(("small", "large"), [(50, 150), pytest.param(300, 1000, marks=pytest.mark.slow)])
def test_work_a_module_is_the_same_in_small_and_large_projects(tmp_path: Path, small: int, large: int) -> None:
    before, few = work(tmp_path / "small", modules=small)
    after, many = work(tmp_path / "large", modules=large)
    before_each, after_each = per_module(before, small), per_module(after, large)
    assert after_each.keys() == before_each.keys()
    for name, number in after_each.items():
        assert number <= before_each[name] * 1.1 + 1, name
    assert len(few) >= small
    assert len(many) * small == pytest.approx(len(few) * large, rel=0.05)


@pytest.mark.parametrize("shape", ["depth", "cycle"])
def test_long_chains_and_large_circles_of_calls_cost_in_proportion(tmp_path: Path, shape: str) -> None:
    none, _ = work(tmp_path / "none", modules=10)
    short, _ = work(tmp_path / "short", modules=10, **{shape: 100})
    long, _ = work(tmp_path / "long", modules=10, **{shape: 1000})
    for name, number in long.items():
        assert number - none[name] <= 3 * 10 * (short[name] - none[name]) + 100, name


def test_a_circle_that_is_deeper_than_questions_may_wait_costs_in_proportion(tmp_path: Path) -> None:
    """Each class makes one of another, and its method calls that of the next: each question leads to all others."""
    made = {}
    for count in (40, 240):
        classes = [
            f"class C{i}(nn.Module):\n"
            f"    def __init__(self, other):\n        self.other, self.layer = other, C{(i * 7 + 3) % count}(other)\n"
            f"    def run(self, xs):\n        out = [self.other(x) for x in xs]\n"
            f"        return C{(i + 1) % count}(self).run(out)\n"
            for i in range(count)
        ]
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "circle.py").write_text("import torch\nfrom torch import nn\n\n\n" + "\n".join(classes))
        done: Counter[str] = Counter()
        with counting(done):
            checked(folder)
        made[count] = done["_once"] / count
    assert made[240] <= 3 * made[40]


def test_neither_the_order_of_files_nor_jobs_change_findings(tmp_path: Path) -> None:
    synthetic.write(tmp_path, synthetic.Shape(modules=60, functions=3, depth=120, cycle=60))
    forwards = rows(checked(tmp_path), tmp_path)
    assert forwards
    assert rows(checked(tmp_path, order=-1), tmp_path) == forwards
    assert rows(checked(tmp_path, jobs=2), tmp_path) == forwards


def test_a_project_is_the_same_each_time_and_its_modules_form_rings() -> None:
    shape = synthetic.Shape(modules=10, depth=20)
    assert synthetic.module(3, shape) == synthetic.module(3, shape)
    assert [synthetic.neighbour(i, 10) for i in range(10)] == [1, 2, 3, 4, 5, 6, 0, 8, 9, 7]
