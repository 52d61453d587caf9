"""Fixing through the real command: what happens to the files themselves."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

OLD = "import torch\n\n\ndef copy(x):\n    return x.clone().detach()\n"
NEW = OLD.replace("clone().detach()", "detach().clone()")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals, modes and links of POSIX")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "torchmemlint", "check", "--isolated", "--select", "TML304", "-j", "1", *arguments]


def fix(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Fix a folder, from within it."""
    return subprocess.run(
        command("--fix", *arguments), cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@posix
def test_a_killed_run_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    """Killed at random moments: of the whole run, and while it writes."""
    files = [tmp_path / f"m{i}.py" for i in range(24)]
    old = [f"# {i}\n{OLD}\n\n# {'x' * 4000}\n" for i in range(len(files))]
    new = [text.replace("clone().detach()", "detach().clone()") for text in old]
    for path, text in zip(files, old):
        path.write_text(text, encoding="utf-8")
    whole = time.monotonic()
    subprocess.run(command(), cwd=tmp_path, capture_output=True, timeout=120, check=False)  # fills the cache
    whole = time.monotonic() - whole
    chance, between = random.Random(7), 0
    for attempt in range(10):
        for path, text in zip(files, old):
            path.write_text(text, encoding="utf-8")
        run = subprocess.Popen(command("--fix"), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        first = min(files)
        while attempt % 4 and run.poll() is None and first.read_text(encoding="utf-8") == old[0]:
            time.sleep(0.001)
        time.sleep(chance.random() * (0.02 if attempt % 4 else whole))
        run.kill()
        run.wait()
        now = [path.read_text(encoding="utf-8") for path in files]
        assert all(text in pair for text, pair in zip(now, zip(old, new)))
        between += now not in (old, new)
        rest = {p.name for p in tmp_path.iterdir()} - {p.name for p in files} - {".torchmemlint_cache"}
        assert all(name.startswith(".m") and name.endswith(".tmp") for name in rest), rest
    assert between, "no run was killed while it wrote"
    assert fix(tmp_path).returncode == 0
    assert [path.read_text(encoding="utf-8") for path in files] == new


@posix
def test_a_read_only_file_is_left_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(OLD, encoding="utf-8")
    (tmp_path / "b.py").write_text(OLD, encoding="utf-8")
    (tmp_path / "a.py").chmod(0o444)
    result = fix(tmp_path)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == OLD
    assert (tmp_path / "b.py").read_text(encoding="utf-8") == NEW
    assert "a.py: not fixed:" in result.stderr
    assert "read-only" in result.stderr
    assert "Fixed 1 finding (1 TML304)." in result.stdout
    assert result.returncode == 1, "what was not written is still found"
    assert "Found 1 finding" in result.stdout


@posix
def test_modes_links_and_last_lines_stay(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "package"
    folder.mkdir()
    real, link = outside / "real.py", folder / "link.py"
    real.write_bytes(OLD.encode())
    link.symlink_to("../outside/real.py")
    script = folder / "script.py"
    script.write_bytes(OLD.encode().rstrip(b"\n"))
    script.chmod(0o755)
    assert fix(folder, "link.py", "script.py").returncode == 0
    assert link.is_symlink()
    assert real.read_bytes() == NEW.encode()
    assert script.read_bytes() == NEW.encode().rstrip(b"\n")
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


@posix
def test_a_file_that_two_names_lead_to_is_fixed_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(OLD, encoding="utf-8")
    (tmp_path / "b.py").symlink_to("a.py")
    fix(tmp_path, "a.py", "b.py")
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == NEW
    assert (tmp_path / "b.py").is_symlink()


@pytest.mark.parametrize(
    "raw",
    [
        OLD.replace("\n", "\r\n").encode(),
        OLD.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + OLD.encode(),
        b"# -*- coding: latin-1 -*-\ns = '\xe9'\n" + OLD.encode(),
        b"\xef\xbb\xbf# coding: utf-8\r\n" + OLD.replace("\n", "\r\n").encode().rstrip(),
        OLD.encode() + b"\n\x0c\nclass Later:\n\tx = '\xc3\xa9'  \t\n",
        OLD.replace("    return", "\treturn").encode() + b"\n\n\n\n",
    ],
)
def test_every_other_byte_stays(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(raw)
    assert fix(tmp_path).returncode == 0
    assert path.read_bytes() == raw.replace(b"clone().detach()", b"detach().clone()")
    once = path.stat()
    assert fix(tmp_path).returncode == 0
    again = path.stat()
    assert (again.st_mtime_ns, again.st_ino) == (once.st_mtime_ns, once.st_ino), "a second run touches nothing"


EDITOR = """
import sys, threading
from torchmemlint import mend
from torchmemlint.cli import main
write = mend.Mended.write
def edited(self):
    with open("a.py", "a") as stream:
        stream.write("# edited meanwhile\\n")
    write(self)
mend.Mended.write = edited
main(["check", "--isolated", "--select", "TML304", "--fix", "."])
"""


def test_a_file_edited_meanwhile_is_refused(tmp_path: Path) -> None:
    """An editor saves the file between the reading and the writing."""
    (tmp_path / "a.py").write_text(OLD, encoding="utf-8")
    (tmp_path / "b.py").write_text(OLD, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-c", EDITOR], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == f"{OLD}# edited meanwhile\n"
    assert (tmp_path / "b.py").read_text(encoding="utf-8") == NEW
    assert "a.py was changed by another program; left as it is" in result.stderr
    assert "Fixed 1 finding" in result.stdout


def test_a_diff_announces_exactly_what_is_written(tmp_path: Path) -> None:
    names = ["a.py", "b.py", "sub/c.py"]
    for name, text in zip(names, [OLD, OLD.rstrip("\n"), OLD.replace("\n", "\r\n")]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    kept = {name: (tmp_path / name).read_bytes() for name in names}
    shown = subprocess.run(command("--diff"), cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert {name: (tmp_path / name).read_bytes() for name in names} == kept
    fix(tmp_path)
    fixed = {name: (tmp_path / name).read_bytes() for name in names}
    for name, raw in kept.items():
        (tmp_path / name).write_bytes(raw)
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    patch = ["git", "apply", "-p0", "--whitespace=nowarn"]
    subprocess.run(patch, input=shown.stdout, cwd=tmp_path, check=True, env=environment)
    assert {name: (tmp_path / name).read_bytes() for name in names} == fixed != kept


def test_more_files_than_are_kept_in_memory_are_fixed_at_once(tmp_path: Path) -> None:
    """Until they are written, the new texts of all files are known to the analysis, however many there are."""
    text = "import torch\n\n\ndef copies(x, z):\n    y = x.clone().detach()\n    return z.clone().detach() + y\n"
    for number in range(80):
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")
        (tmp_path / f"a{number}.py").write_text(NEW, encoding="utf-8")
    result = fix(tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    assert "Fixed 160 findings (160 TML304)." in result.stdout
    expected = text.replace("clone().detach()", "detach().clone()")
    assert {path.read_text(encoding="utf-8") for path in tmp_path.glob("m*.py")} == {expected}
