"""Every claim of every fixture, proven without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `verify` says of all fixtures."""
    folder = tmp_path_factory.mktemp("all")
    command = [sys.executable, "-m", "torchmemlint", "verify", "--device", "virtual", "--json", "all.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=3000)
    out = Path(folder) / "all.json"
    assert out.exists(), done.stderr
    return dict(json.loads(out.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_every_claim_is_confirmed(everything: dict[str, Any]) -> None:
    cases = everything["cases"]
    doubtful = {
        name: [f"{c['name']} {c['verdict']}: {c['detail']}" for c in case["claims"] if c["verdict"] != "confirmed"]
        for name, case in cases.items()
        if case["verdict"] not in ("confirmed", "skipped")
    }
    assert doubtful == {}


@pytest.mark.slow
def test_a_gpu_is_predicted_for_nearly_all(everything: dict[str, Any]) -> None:
    cases = everything["cases"].values()
    predicted = sum(case["meter"] == "virtual" for case in cases)
    assert predicted >= 0.9 * len(cases)
