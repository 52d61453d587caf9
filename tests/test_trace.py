"""`torchmemlint trace` on small programs: their findings get bytes, and they don't notice."""

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
from interrupts import heed

from torchmemlint.trace import _show
from torchmemlint.verify.joined import assigned_before, growth, lines_of
from torchmemlint.verify.recorder import Account, is_users

TRAINING = """\
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 256)
        self.out = nn.Linear(256, 10)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(512, 64)
        loss = F.cross_entropy(model(x), x[:, :10].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(model, steps):
    model.eval()
    total = []
    with torch.no_grad():
        for _ in range(steps):
            x = torch.randn(512, 64)
            total.append(F.cross_entropy(model(x), x[:, :10].argmax(1)))
    return float(sum(total))


def main():
    torch.manual_seed(0)
    model = Net()
    train(model, torch.optim.Adam(model.parameters()), 20)
    print(f"loss {evaluate(model, 24):.4f}", *sys.argv[1:])
    return 3


if __name__ == "__main__":
    sys.exit(main())
"""
LEAKING = TRAINING.replace("    with torch.no_grad():\n", "    if True:\n")


KEPT = "total.append(F.cross_entropy(model(x), x[:, :10].argmax(1)))"
SPLIT = LEAKING.replace(KEPT, "y = model(x)\n            total.append(F.cross_entropy(y, x[:, :10].argmax(1)))")


def trace(folder: Path, *program: str, out: str = "trace.json") -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run the command; what came of it, and what it wrote."""
    command = [sys.executable, "-m", "torchmemlint", "trace", "--device", "cpu", "--out", out, "--", *program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    written = folder / out
    return done, json.loads(written.read_text(encoding="utf-8")) if written.exists() else None


@pytest.mark.parametrize("program", [LEAKING, SPLIT], ids=["one line", "made above"])
def test_the_leak_is_the_first_line(program: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    done, data = trace(tmp_path, sys.executable, "train.py", "--lr", "1")
    assert done.returncode == 3
    assert done.stdout.startswith("loss ")
    assert done.stdout.endswith(" --lr 1\n")
    first = data["findings"][0]
    leak = next(row for row, line in enumerate(program.splitlines(), 1) if "total.append" in line)
    assert (first["code"], first["location"]["row"]) == ("TML101", leak)
    hidden = 512 * 256 * 4
    assert first["measured"]["growth"] > 10 * hidden
    assert first["measured"]["at_peak"] >= 20 * hidden
    heading, titles, top = done.stderr[done.stderr.index("torchmemlint trace: peak") :].splitlines()[:3]
    assert "on cpu" in heading
    assert titles.split() == ["growth", "at", "the", "peak", "where", "what"]
    assert f"train.py:{leak}" in top
    assert "TML101" in top


def test_a_healthy_program_has_no_growth(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf-8")
    done, data = trace(tmp_path, sys.executable, "train.py")
    assert done.returncode == 3
    assert "TML101" not in done.stderr
    hidden = 512 * 256 * 4
    assert max(line["growth"] for line in data["lines"]) < hidden // 2
    assert 2 * hidden < data["peak"] < 20 * hidden
    parameters = (64 * 256 + 256 + 256 * 10 + 10) * 4
    made = sum(line["innermost"] for line in data["lines"] if line["row"] in (11, 12))
    assert made == parameters


def test_the_programs_end_is_kept(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import os\nprint('no torch', flush=True)\nos._exit(7)\n", encoding="utf-8")
    done, data = trace(tmp_path, sys.executable, "plain.py")
    assert (done.returncode, done.stdout, data) == (7, "no torch\n", None)
    assert "nothing was recorded" in done.stderr
    (tmp_path / "dies.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", encoding="utf-8")
    assert trace(tmp_path, sys.executable, "dies.py")[0].returncode == -signal.SIGKILL
    done, _ = trace(tmp_path, "no-such-program")
    assert done.returncode == 2
    assert "can't be started" in done.stderr


def test_signals_reach_the_program(tmp_path: Path) -> None:
    program = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
    (tmp_path / "waits.py").write_text(program + "print('up', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    command = [sys.executable, "-m", "torchmemlint", "trace", "--", sys.executable, "waits.py"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 9


def test_output_is_that_of_the_program_alone(tmp_path: Path) -> None:
    """Numbers, both streams, standard input, arguments, the folder and the exit code."""
    extra = 'print(sys.stdin.read(), __import__("os").getcwd(), __name__)\nprint("warned", file=sys.stderr)\n'
    (tmp_path / "train.py").write_text(
        TRAINING.replace("def main():\n", f"def main():\n    {extra.splitlines()[0]}\n    {extra.splitlines()[1]}\n"),
        encoding="utf-8",
    )
    program = [sys.executable, "train.py", "--lr", "0.1", "a b"]
    traced = [sys.executable, "-m", "torchmemlint", "trace", "--", *program]
    alone, ours = (
        subprocess.run(command, cwd=tmp_path, input="typed", capture_output=True, text=True, timeout=300)
        for command in (program, traced)
    )
    assert (ours.returncode, ours.stdout) == (alone.returncode, alone.stdout) == (3, alone.stdout)
    assert "typed" in ours.stdout
    assert alone.stderr == "warned\n"
    assert ours.stderr.startswith("warned\ntorchmemlint trace: peak ")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_an_interrupt_is_the_programs(tmp_path: Path) -> None:
    """The terminal sends it to both; the program decides what comes of it, and the report is still written."""
    program = "import time, torch\nx = torch.ones(1 << 20)\ntry:\n    print('up', flush=True)\n    time.sleep(60)\n"
    program += "except KeyboardInterrupt:\n    print('stopped')\n    raise SystemExit(5)\n"
    (tmp_path / "waits.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "torchmemlint", "trace", "--", sys.executable, "waits.py"]
    child = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=100)
    assert (child.returncode, out) == (5, "stopped\n")
    assert "torchmemlint trace: peak 4 MiB" in err


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n", encoding="utf-8")
    (tmp_path / "plain.py").write_text("import sitecustomize\nprint(sitecustomize.__name__)\n", encoding="utf-8")
    command = [sys.executable, "-m", "torchmemlint", "trace", "--", sys.executable, "plain.py"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines()[-2:] == ["mine", "sitecustomize"]
    assert "KeyError" not in done.stderr


@pytest.mark.parametrize(
    ("sizes", "grown"),
    [
        ([0] * 60, 0),
        ([8] * 60, 0),
        ([0, 8] * 60, 0),
        ([i // 6 for i in range(61)], 9),
        ([(i // 6) + 5 * (i % 2) for i in range(61)], 9),
        ([0] * 30 + [100] * 30, 0),
        ([i // 6 for i in range(49)] + [0] * 12, 7),
        ([5], 0),
        ([], 0),
    ],
)
def test_growth_is_a_rising_floor(sizes: list[int], grown: int) -> None:
    assert growth(sizes) == grown


def test_an_account_knows_the_state_at_the_peak() -> None:
    account = Account()
    for stack, size in ((("a:1", "m:9"), 10), (("b:2", "m:9"), 5), (("a:1", "m:9"), -10), (("c:3",), 7)):
        account.change(stack, size)
    data = account.as_dict()
    assert data["peak"] == 15
    assert sorted(data["at_peak"]) == [[["a:1", "m:9"], 10], [["b:2", "m:9"], 5]]
    assert data["most"] == {"a:1": 10, "b:2": 5, "c:3": 7, "m:9": 15}
    lines = lines_of(data)
    assert (lines["m", 9].at_peak, lines["m", 9].innermost) == (15, 0)
    assert (lines["a", 1].at_peak, lines["a", 1].innermost) == (10, 10)


def test_library_code_is_not_the_users() -> None:
    assert is_users(__file__)
    assert not is_users(json.__file__)
    assert not is_users(pytest.__file__)
    assert not is_users("<frozen importlib._bootstrap>")
    assert not is_users("/opt/another/lib/python3.12/site-packages/torch/nn/modules/linear.py")


def test_a_line_that_only_keeps_is_led_back_to_what_it_keeps(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("a = 1\na = make()\nb, c = a, 2\nkept.append(b)\nb = 3\n", encoding="utf-8")
    assert assigned_before(str(path), 4) == (3,)
    assert assigned_before(str(path), 3) == (2,)
    assert assigned_before(str(tmp_path / "absent.py"), 3) == ()


def test_a_program_that_leaves_the_gpu_alone_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    _show({"peak": 0, "device": "cuda"}, 1, [], [])
    assert "--device cpu" in capsys.readouterr().err
    _show({"peak": 0, "device": "cpu"}, 1, [], [])
    assert "--device cpu" not in capsys.readouterr().err
