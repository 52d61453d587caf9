"""Every claim of every fixture, proven without a GPU."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BUDGET = 300.0  # seconds of CPU time, on however many cores


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """What `verify` says of all fixtures, and the CPU seconds that it took."""
    folder = tmp_path_factory.mktemp("all")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "torchmemlint", "verify", "--device", "virtual", "--json", "all.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=3000)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = Path(folder) / "all.json"
    assert out.exists(), done.stderr
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(out.read_text(encoding="utf-8")), seconds


@pytest.mark.slow
def test_every_claim_is_confirmed(everything: tuple[dict[str, Any], float]) -> None:
    cases = everything[0]["cases"]
    doubtful = {
        name: [f"{c['name']} {c['verdict']}: {c['detail']}" for c in case["claims"] if c["verdict"] != "confirmed"]
        for name, case in cases.items()
        if case["verdict"] not in ("confirmed", "skipped")
    }
    assert doubtful == {}


@pytest.mark.slow
def test_a_gpu_is_predicted_for_nearly_all(everything: tuple[dict[str, Any], float]) -> None:
    cases = everything[0]["cases"].values()
    predicted = sum(case["meter"] == "virtual" for case in cases)
    assert predicted >= 0.9 * len(cases)


@pytest.mark.slow
def test_it_takes_less_than_five_minutes(everything: tuple[dict[str, Any], float]) -> None:
    assert everything[1] < BUDGET
