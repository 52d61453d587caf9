"""Programs of several files, as people write them: each is found at its marked lines, and silent once it is mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import marks
from markers import parse

from torchmemlint.api import check
from torchmemlint.config import Config

PROGRAMS = sorted(path for path in (Path(__file__).parent / "programs").iterdir() if path.is_dir())


def label(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("program", PROGRAMS, ids=label)
def test_what_a_program_holds_is_found(program: Path) -> None:
    files = sorted((program / "bad").rglob("*.py"))
    wanted = {path: parse(path.read_text(encoding="utf-8")) for path in files}
    codes = {code for markers in wanted.values() for code in markers.codes}
    assert codes
    found = check(program / "bad", Config(hints=True))
    for path, markers in wanted.items():
        here = [d for d in found if Path(d.filename).resolve() == path.resolve()]
        difference = markers.compare(marks(here, codes))
        assert not difference, f"{path.name}: {difference}"


@pytest.mark.parametrize("program", PROGRAMS, ids=label)
def test_a_mended_program_is_silent(program: Path) -> None:
    found = check(program / "good", Config())
    assert [f"{d.filename}:{d.row}: {d.code} {d.message}" for d in found] == []
