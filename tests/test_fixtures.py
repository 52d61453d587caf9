"""Every fixture three times: linted against its markers, mended, and run with its memory counted."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from linting import findings, fixed, marks
from markers import parse
from runner import Run, cured, load, run, same, shows

from torchmemlint.api import fix_source
from torchmemlint.config import Config

ROOT = Path(__file__).parent.parent / "fixtures"
FILES = sorted(ROOT.glob("TML*/*.py"))
SILENT = [p for p in FILES if p.name.startswith("ok_")]
CASES = [p for p in FILES if p not in SILENT]


def label(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def code_of(path: Path) -> str:
    return path.parent.name.partition("-")[0]


def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def has_bad(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "bad" for node in ast.parse(source(path)).body)


def constant(path: Path, name: str, default: str = "") -> str:
    """A module constant of a fixture, read without running it."""
    for node in ast.parse(source(path)).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return str(ast.literal_eval(node.value))
    return default


def runs_here(path: Path) -> bool:
    return has_bad(path) and constant(path, "DEVICE") != "cuda"


PROVEN = [p for p in CASES if runs_here(p)]


@cache
def measured(path: Path, variant: str) -> Run:
    return run(load(path), variant)


@cache
def mended(path: Path) -> str:
    return fixed(source(path), path, code_of(path))


def test_every_rule_folder_has_cases_and_lookalikes() -> None:
    folders = {p.parent for p in FILES}
    few = [f.name for f in folders if sum(p.parent == f for p in CASES) < 2 or sum(p.parent == f for p in SILENT) < 3]
    assert folders
    assert few == []


@pytest.mark.parametrize("path", CASES, ids=label)
def test_a_case_has_exactly_the_marked_findings(path: Path) -> None:
    markers = parse(source(path))
    assert code_of(path) in markers.codes
    found = marks(findings(source(path), path), {code_of(path), *markers.codes})
    difference = markers.compare(found)
    assert not difference, difference


@pytest.mark.parametrize("path", SILENT, ids=label)
def test_a_lookalike_is_silent(path: Path) -> None:
    found = findings(source(path), path)
    assert [f"{d.row}: {d.code} {d.message}" for d in found if (d.row, d.code) in marks(found, {code_of(path)})] == []


@pytest.mark.parametrize("path", CASES, ids=label)
def test_the_fix_leaves_nothing_to_fix(path: Path) -> None:
    text, code = mended(path), code_of(path)
    ast.parse(text)
    left = [d for d in findings(text, path, (code,)) if d.code == code]
    assert not [d for d in left if d.fix is not None]
    assert fixed(text, path, code) == text
    if constant(path, "FIX"):
        assert text != source(path), "the rule offers no fix"
        assert left == []


@pytest.mark.parametrize("path", CASES, ids=label)
def test_all_fixes_together_bring_nothing_new(path: Path) -> None:
    """What one fix brings to light, the next round mends; at the end no code is found more often than before."""
    text = fix_source(source(path), str(path), Config(select=("ALL",), unsafe_fixes=True))
    if text == source(path):
        pytest.skip("no fix offered")
    before, after = (Counter(d.code for d in findings(t, path)) for t in (source(path), text))
    assert after - before == Counter()


@pytest.mark.parametrize("path", PROVEN, ids=label)
def test_the_claimed_effect_is_real(path: Path) -> None:
    bad, good = measured(path, "bad"), measured(path, "good")
    assert same(bad.value, good.value)
    assert bad.usage.samples, "probe() is never called"
    assert shows(constant(path, "EFFECT"), bad.usage, good.usage), (bad.usage, good.usage)


@pytest.mark.parametrize("path", PROVEN, ids=label)
def test_the_fix_keeps_the_result_and_cures(path: Path) -> None:
    if mended(path) == source(path):
        pytest.skip("no fix offered")
    after, good = run(load(path, mended(path)), "bad"), measured(path, "good")
    assert same(after.value, good.value)
    if constant(path, "FIX") != "numbers":
        bad = measured(path, "bad")
        assert cured(constant(path, "EFFECT"), bad.usage, after.usage, good.usage), (after.usage, good.usage)
