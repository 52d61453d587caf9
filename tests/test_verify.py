"""`torchmemlint verify` on fixtures that are right, sabotaged, or broken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from interrupts import heed

from torchmemlint.cli import main
from torchmemlint.verify.cases import Case, CaseError, gather, read

RIGHT = '''
"""Every output is kept."""

import torch

EFFECT = "grows"
CLAIM = "4 MiB"


def step(device, seed):
    torch.manual_seed(seed)
    return torch.randn(1024, 1024).to(device)


def bad(device, probe):
    kept = []
    for seed in range(5):
        kept.append(step(device, seed))
        probe()
    return sum(float(k.sum()) for k in kept)


def good(device, probe):
    total = 0.0
    for seed in range(5):
        total += float(step(device, seed).sum())
        probe()
    return total
'''
KEPT = "kept.append(step(device, seed))"
FREED = "kept.append(step(device, seed).sum())"
TOTAL = "total += float(step(device, seed).sum())"
SABOTAGE = {
    "right": ("", "", "confirmed", ""),
    "good_is_bad": (
        TOTAL,
        "k = globals().setdefault('k', []); k.append(step(device, seed)); total += float(k[-1].sum())",
        "refuted",
        "effect",
    ),
    "bad_is_good": (KEPT, FREED, "refuted", "effect"),
    "claim_doubled": ('CLAIM = "4 MiB"', 'CLAIM = "8 MiB"', "refuted", "amount"),
    "result_changed": ("return total", "return total + 1000", "refuted", "result"),
    "endless_loop": ("total = 0.0", "total = 0.0\n    while True:\n        pass", "broken", "timeout"),
    "out_of_memory": (KEPT, "kept += [step(device, seed).repeat(64, 1) for _ in range(64)]", "broken", "oom"),
    "raises": ("total = 0.0", "raise ValueError('sabotage')", "broken", "failed: ValueError: sabotage (line 24)"),
    "dies": ("total = 0.0", "import os; os.abort()", "broken", "crashed: the process died of SIGABRT"),
    "exits": ("total = 0.0", "raise SystemExit(3)", "broken", "crashed"),
    "no_steps": ("        probe()\n    return sum", "    return sum", "inconclusive", "probe() was never called"),
    "gpu_only": ('CLAIM = "4 MiB"', 'DEVICE = "cuda"', "skipped", ""),
    "no_claim": ('EFFECT = "grows"\nCLAIM = "4 MiB"', "", "confirmed", ""),
}


def sabotaged(name: str) -> str:
    old, new, _, _ = SABOTAGE[name]
    assert old in RIGHT, name
    return RIGHT.replace(old, new) if old else RIGHT


def verify(*arguments: str | Path, cwd: Path) -> tuple[int, dict[str, Any], str]:
    """Exit code, what --json wrote, and everything that was printed."""
    command = [sys.executable, "-m", "torchmemlint", "verify", *map(str, arguments), "--json", "out.json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=500)
    out = cwd / "out.json"
    data = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    return done.returncode, data, done.stdout + done.stderr


@pytest.fixture(scope="module", params=["cpu", "virtual"])
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, int, dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("sabotage")
    for name in SABOTAGE:
        (folder / f"{name}.py").write_text(sabotaged(name), encoding="utf-8")
    code, data, text = verify(folder, "--device", request.param, "--timeout", "15", "--memory", "1", cwd=folder)
    assert data, text
    return request.param, code, data, text


@pytest.mark.parametrize("name", SABOTAGE)
def test_the_verdict_on_sabotage(name: str, run: tuple[str, int, dict[str, Any], str]) -> None:
    case = run[2]["cases"][name]
    _, _, verdict, reason = SABOTAGE[name]
    verdict = "confirmed" if (run[0], name) == ("virtual", "gpu_only") else verdict  # it can be predicted
    assert case["verdict"] == verdict, case["claims"]
    wrong = [f"{c['name']} {c['detail']}" for c in case["claims"] if c["verdict"] == verdict]
    assert any(reason in line for line in wrong) or not reason, wrong


def test_a_broken_fixture_does_not_stop_the_rest(run: tuple[str, int, dict[str, Any], str]) -> None:
    meter, code, data, text = run
    assert code == 1
    assert list(data["cases"]) == sorted(SABOTAGE)
    assert data["environment"]["meter"] == meter
    assert f"{len(SABOTAGE)} cases" in text
    assert "out_of_memory: bad broken: oom" in text


def test_figures_are_exact(run: tuple[str, int, dict[str, Any], str]) -> None:
    right = run[2]["cases"]["right"]
    assert right["meter"] == run[0]
    assert right["bad"]["samples"] == [4 << 20, 8 << 20, 12 << 20, 16 << 20, 20 << 20]
    assert right["bad"]["slope"] == 4 << 20
    assert right["good"]["samples"][-1] <= 512
    assert right["good"]["returned"] == right["good"]["settled"] == 0


@pytest.mark.parametrize("fixture", ["TML101/list_append", "TML201/validation_loop", "TML503/deepcopy_of_state"])
def test_a_shipped_fixture_turned_round_is_refuted(fixture: str, tmp_path: Path) -> None:
    """Growth, peak and what is held: with bad and good exchanged, no effect is left to confirm."""
    rule, _, stem = fixture.partition("/")
    (case,) = (case for case in gather([rule]) if case.path.stem == stem)
    turned = (
        case.text.replace("def bad(", "def kept(").replace("def good(", "def bad(").replace("def kept(", "def good(")
    )
    (tmp_path / "turned.py").write_text(turned.replace('DEVICE = "cuda"\n', ""), encoding="utf-8")
    code, data, text = verify("turned.py", "--device", "virtual", cwd=tmp_path)
    assert code == 1, text
    claims = {claim["name"]: claim["verdict"] for claim in data["cases"]["turned"]["claims"]}
    assert claims["effect"] == "refuted"
    assert claims["result"] == "confirmed"


def test_files_are_cases_and_others_are_errors(tmp_path: Path) -> None:
    good = tmp_path / "mine.py"
    good.write_text(RIGHT, encoding="utf-8")
    case = read(good)
    assert (case.name, case.code, case.effect, case.claim) == ("mine", "", "grows", "4 MiB")
    for text, reason in (("x = 1\n", "no function bad"), ("def bad(:\n", "can't be read")):
        good.write_text(text, encoding="utf-8")
        with pytest.raises(CaseError, match=reason):
            read(good)
    good.write_text(RIGHT.replace("grows", "shrinks"), encoding="utf-8")
    with pytest.raises(CaseError, match="EFFECT is 'shrinks'"):
        read(good)
    with pytest.raises(CaseError, match="no fixture belongs to `TML999`"):
        gather(["TML999"])


def test_codes_and_prefixes_name_fixtures() -> None:
    one, family, everything = gather(["TML101"]), gather(["tml1"]), gather([])
    assert {case.code for case in one} == {"TML101"}
    assert {case.code for case in family} >= {"TML101", "TML102"}
    assert len(everything) > len(family) > len(one)
    assert all(case.effect or case.figures for case in everything), "every fixture and every fact claims something"


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_an_interrupt_reports_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(RIGHT, encoding="utf-8")
    waits = RIGHT.replace(
        "total = 0.0", "total = 0.0\n    open('waiting', 'w').close()\n    __import__('time').sleep(90)"
    )
    (tmp_path / "b.py").write_text(waits, encoding="utf-8")
    command = [sys.executable, "-m", "torchmemlint", "verify", "a.py", "b.py", "--jobs", "1", "--device", "cpu"]
    command += ["--timeout", "100", "--json", "out.json"]
    child = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heed
    )
    for _ in range(900):
        if (tmp_path / "waiting").exists():
            break
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "stopped when 1 of 2 cases were measured" in err
    assert list(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["cases"]) == ["a"]


def test_a_set_up_that_can_not_measure_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RIGHT, encoding="utf-8")
    code, data, text = verify("mine.py", "--device", "cuda", cwd=tmp_path)
    assert (code, data) == (2, {})
    assert "can't measure on cuda: this torch" in text
    code, data, text = verify("absent.py", cwd=tmp_path)
    assert (code, data) == (2, {})
    assert "no fixture belongs to `absent.py`" in text


def test_a_case_knows_its_fix(tmp_path: Path) -> None:
    folder = tmp_path / "TML301-redundant"
    folder.mkdir()
    text = "import torch\n\n\ndef bad(device, probe):\n    return torch.ones(3).contiguous()\n\n\ngood = bad\n"
    assert Case(folder / "a.py", text, "TML301").fixed() == text.replace(".contiguous()", "")
    assert Case(folder / "a.py", text, "TML101").fixed() is None


def test_without_torch_the_message_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchmemlint.verify.command.find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["verify", "TML101"])
    assert result.exit_code == 2
    assert result.stderr == 'torchmemlint: error: verify needs PyTorch: pip install "torchmemlint[verify]"\n'
