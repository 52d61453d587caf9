"""docs/comparison.md: its data, and those of its rows that the tools of this environment can repeat."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchmemlint.dev import comparison

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
ROWS = ("fixtures", "lookalikes", "public")


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return comparison.load(ROOT / comparison.DATA)


def measured(*names: str) -> dict[str, dict[str, Any]]:
    """What the benchmark says now."""
    command = [sys.executable, str(ROOT / "benchmarks" / "peers.py"), "--only", *names]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return {tool["name"]: tool for tool in tomllib.loads(done.stdout)["tool"]}


def test_every_tool_is_measured_on_the_same_lines(data: dict[str, Any]) -> None:
    first = data["tool"][0]
    assert first["name"] == "torchmemlint"
    assert len(data["tool"]) == 6
    for tool in data["tool"]:
        assert [tool[row].get("lines") for row in ROWS] == [first[row].get("lines") for row in ROWS]
        assert set(tool["probes"]) <= set(data["probes"])


def test_the_page_tells_the_figures(data: dict[str, Any]) -> None:
    tool = data["tool"][1]
    tool["fixtures"]["hits"], tool["lookalikes"] = 4711, {"files": 69, "findings": 3, "codes": "TG001 3"}
    page = comparison.page(data)
    assert f"| {tool['name']} {tool['version']} | TG001, TG002, TG010 | 4711 of " in page
    assert "| 3 (TG001 3) |" in page
    assert "4711" in comparison.short(data)


@pytest.mark.slow
def test_its_own_row_and_bugbears_hold_today(data: dict[str, Any]) -> None:
    pytest.importorskip("bugbear")
    said = {tool["name"]: tool for tool in data["tool"]}
    for name, now in measured("torchmemlint", "flake8-bugbear").items():
        assert now["probes"] == said[name]["probes"], name
        assert now["lookalikes"]["findings"] == said[name]["lookalikes"]["findings"] == 0
        assert now["fixtures"]["hits"] == (now["fixtures"]["lines"] if name == "torchmemlint" else 0)
