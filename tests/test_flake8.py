"""The flake8 plugin, in real flake8 processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from lsp_client import Client

ROOT = Path(__file__).parent.parent
pytest.importorskip("flake8")

KEPT = """\
import torch
from torch import nn


def validate(loader, device):
    model = nn.Linear(256, 10).to(device)
    losses = []
    for images, labels in loader:
        outputs = model(images)
        losses.append(nn.functional.cross_entropy(outputs, labels))
    return torch.stack(losses).mean().item()
"""
APPEND = "        losses.append(nn.functional.cross_entropy(outputs, labels))"
HINT = "import torch\n\n\ndef snapshot(model):\n    return [p.clone().detach() for p in model.parameters()]\n"


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def flake8(*arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flake8", *arguments], input=stdin, capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, **variables},
    )  # fmt: skip


def places(lines: Iterable[str]) -> list[tuple[str, int, int, str]]:
    """(file, row, column, code) of flake8's lines with our codes."""
    found = [line.split(":", 3) for line in lines]
    split = [(os.path.normpath(f), int(r), int(c), rest.split()[0]) for f, r, c, rest in found]
    return [place for place in split if place[3].startswith("TML")]


def codes(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in result.stderr
    return [place[3] for place in places(result.stdout.splitlines())]


def checked(*arguments: str) -> list[tuple[str, int, int, str]]:
    """(file, row, column, code) of `torchmemlint check`."""
    command = [sys.executable, "-m", "torchmemlint", "check", "--output-format", "json", "--exit-zero", *arguments]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=300).stdout)
    return [(d["filename"], d["location"]["row"], d["location"]["column"], d["code"]) for d in found]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_findings_are_those_of_check(jobs: str) -> None:
    write("a/kept.py", KEPT)
    folders = [str(ROOT / "fixtures"), str(ROOT / "tests" / "disguises"), "a"]
    found = flake8("--select", "TML", "--torchmemlint-hints", "-j", jobs, *folders)
    expected = checked("--select", "ALL", *folders)
    assert len(expected) > 20
    assert places(found.stdout.splitlines()) == sorted(expected)


def test_it_is_listed_and_on_by_default() -> None:
    write("kept.py", KEPT)
    assert "torchmemlint: " in flake8("--version").stdout.replace("\n", " ")
    result = flake8("kept.py")
    assert result.returncode == 1
    assert result.stdout.startswith("kept.py:10:9: TML101 `losses` keeps the autograd graph")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--select", "TML1"], ["TML101"]),
        (["--select", "TML5"], []),
        (["--select", "E,F"], []),
        (["--extend-ignore", "TML101"], []),
        (["--ignore", "TML"], []),
        (["--per-file-ignores", "kept.py:TML101"], []),
        (["--per-file-ignores", "other.py:TML101"], ["TML101"]),
    ],
)
def test_selection_is_left_to_flake8(arguments: list[str], expected: list[str]) -> None:
    write("kept.py", KEPT)
    assert codes(flake8(*arguments, "kept.py")) == expected


@pytest.mark.parametrize("name", ["setup.cfg", "tox.ini", ".flake8"])
def test_options_come_from_the_settings_files_of_flake8(name: str) -> None:
    write("hint.py", HINT)
    assert codes(flake8("hint.py")) == []
    write(name, "[flake8]\ntorchmemlint-hints = true\n")
    assert codes(flake8("hint.py")) == ["TML304"]
    write(name, "[flake8]\nextend-select = TML304\n")
    assert codes(flake8("hint.py")) == ["TML304"]
    write(name, "[flake8]\nextend-select = TML3\nextend-ignore = TML304\n")
    assert codes(flake8("hint.py")) == []


def test_selecting_all_of_the_plugin_does_not_select_hints() -> None:
    write("hint.py", HINT)
    assert codes(flake8("--select", "TML", "hint.py")) == []


def test_settings_of_the_project_hold_too() -> None:
    write("kept.py", KEPT)
    write("torchmemlint.toml", 'ignore = ["TML1"]\n')
    assert codes(flake8("kept.py")) == []
    write("other.toml", 'ignore = ["TML2"]\n')
    assert codes(flake8("--torchmemlint-config", "other.toml", "kept.py")) == ["TML101"]


@pytest.mark.parametrize("text", ['ignore = ["TML1O1"]\n', "hint = true\n", "hints = [\n"])
def test_broken_settings_are_one_line(text: str) -> None:
    write("kept.py", KEPT)
    write("torchmemlint.toml", text)
    result = flake8("kept.py")
    assert result.returncode == 1
    assert "torchmemlint.toml" in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: TML101", "# noqa: TML", "# torchmemlint: ignore[TML101] why"])
def test_suppressions(comment: str) -> None:
    write("kept.py", KEPT.replace(APPEND, f"{APPEND}  {comment}"))
    assert codes(flake8("kept.py")) == []
    shown = codes(flake8("--disable-noqa", "kept.py"))
    assert shown == (["TML101"] if "noqa" in comment else [])


def test_unused_suppressions_are_reported() -> None:
    write("kept.py", "import torch\n\nprint(torch)  # noqa: TML101\n")
    assert codes(flake8("kept.py")) == ["TML001"]
    assert codes(flake8("--extend-ignore", "TML001", "kept.py")) == []
    assert codes(flake8("--disable-noqa", "kept.py")) == []


def test_standard_input_is_the_text_that_counts() -> None:
    assert places(flake8("-", stdin=KEPT).stdout.splitlines()) == [("stdin", 10, 9, "TML101")]
    write("kept.py", "import torch\n")
    result = flake8("--stdin-display-name", "kept.py", "-", stdin=KEPT)
    assert places(result.stdout.splitlines()) == [("kept.py", 10, 9, "TML101")]


HELPER = """\
def forward(model, batch):
    return model(batch)
"""
USER = """\
import torch
from torch import nn

from pkg.helper import forward


def predict(loader):
    model = nn.Linear(256, 256)
    outputs = []
    for batch in loader:
        outputs.append(forward(model, batch))
    return [float(output.detach().sum()) for output in outputs]
"""


def test_files_are_linked_as_in_check() -> None:
    write("pkg/__init__.py", "")
    write("pkg/helper.py", HELPER)
    write("pkg/user.py", USER)
    alone, whole = checked("pkg/user.py"), checked("pkg")
    assert "TML101" in [place[3] for place in alone]
    assert places(flake8("pkg/user.py").stdout.splitlines()) == alone
    assert places(flake8(".").stdout.splitlines()) == whole
    result = flake8("--stdin-display-name", "pkg/user.py", "-", stdin=USER)
    assert places(result.stdout.splitlines()) == alone


def test_files_that_torchmemlint_excludes_are_checked_when_flake8_does() -> None:
    write("build/kept.py", KEPT)
    write("a.py", "import torch\n")
    assert checked(".") == []
    assert codes(flake8(".")) == ["TML101"]


def test_syntax_errors_and_other_encodings_are_no_crash() -> None:
    write("bad.py", "import torch\ndef f(:\n")
    Path("latin.py").write_bytes(b"# coding: latin-1\nimport torch\nx = '\xe9'\n")
    Path("bom.py").write_bytes(b"\xef\xbb\xbf" + KEPT.replace("\n", "\r\n").encode())
    result = flake8("--select", "TML,E9", ".")
    assert "Traceback" not in result.stderr
    assert places(result.stdout.splitlines()) == [("bom.py", 10, 9, "TML101")]
    assert "E999" in result.stdout


def test_together_with_bugbear() -> None:
    pytest.importorskip("bugbear")
    write("both.py", KEPT + "\n\ndef late(items=[]):\n    return items\n")
    result = flake8("both.py")
    assert " TML101 " in result.stdout
    assert " B006 " in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("version", ["6.0.*", "6.1.*", "7.0.*"])
def test_older_releases_of_flake8(version: str, tmp_path: Path) -> None:
    target = tmp_path / "flake8"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), f"flake8=={version}"]
    subprocess.run(install, check=True, timeout=300)
    write("src/kept.py", KEPT)
    write("src/hint.py", HINT)
    result = flake8("-j", "2", "--extend-select", "TML304", "src", PYTHONPATH=str(target))
    assert codes(result) == ["TML304", "TML101"]
    assert flake8("--version", PYTHONPATH=str(target)).stdout.startswith(version.rstrip("*"))


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_together_with_torchfix_and_bugbear(jobs: str, torchfix: Path) -> None:
    pytest.importorskip("bugbear")
    loads = "\n\ndef load(path, seen=[]):\n    return torch.load(path)\n"
    write("src/both.py", KEPT + loads)
    write("src/kept.py", KEPT)
    result = flake8("-j", jobs, "--select", "TML,TOR,B", "--per-file-ignores", "src/kept.py:TML", "src",
                    PYTHONPATH=str(torchfix))  # fmt: skip
    assert "Traceback" not in result.stderr
    assert codes_of_all(result) == ["TML101", "B006", "TOR102"]
    assert "TorchFix" in flake8("--version", PYTHONPATH=str(torchfix)).stdout


@pytest.fixture(scope="module")
def torchfix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TorchFix alone, as docs/editors.md says: its bound on libcst excludes ours."""
    target = tmp_path_factory.mktemp("torchfix")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), "torchfix"]
    subprocess.run(install, check=True, timeout=300)
    return target


def codes_of_all(result: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.split(":", 3)[3].split()[0] for line in result.stdout.splitlines()]


def test_in_an_editor_through_python_lsp_server(tmp_path: Path) -> None:
    pytest.importorskip("pylsp")
    write("kept.py", KEPT)
    names = ("pycodestyle", "pyflakes", "mccabe")
    plugins = {**{name: {"enabled": False} for name in names}, "flake8": {"enabled": True}}
    if not Path(sys.executable).with_name("flake8").exists():
        plugins["flake8"]["executable"] = f"{sys.executable} -m flake8"  # type: ignore[assignment]
    with Client([sys.executable, "-m", "pylsp"], tmp_path) as client:
        client.initialize(tmp_path)
        client.notify("workspace/didChangeConfiguration", {"settings": {"pylsp": {"plugins": plugins}}})
        uri = client.open(tmp_path / "kept.py")
        (found,) = [d for d in client.diagnostics(uri) if d["code"].startswith("TML")]
        assert (found["code"], found["range"]["start"]) == ("TML101", {"line": 9, "character": 8})
        client.change(uri, KEPT.replace("labels))", "labels).item())"))
        assert [d for d in client.diagnostics(uri) if d["code"].startswith("TML")] == []
