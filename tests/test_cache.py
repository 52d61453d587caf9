"""The cache: the same findings cold, warm, off and after every kind of change; nothing that breaks it breaks a run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from torchmemlint.cache import cache_folder, place, state
from torchmemlint.cli import main
from torchmemlint.config import Config

CALLER = """\
import torch
from helper import keep


def train(model: torch.nn.Module, loader):
    total = 0.0
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        total += keep(loss)
    print(total)
"""
FIXABLE = """\
import torch


def train(model: torch.nn.Module, optimizer, loader):
    total = 0.0
    for x in loader:
        h = model(x)
        loss = torch.nn.functional.huber_loss(h, x)
        energy = h.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += energy
    return float(total)
"""
GRAPH = "import torch\n\n\ndef keep(loss):\n    return loss * 2\n"
NUMBER = "import torch\n\n\ndef keep(loss):\n    return loss.item() * 2\n"


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("[tool.torchmemlint]\n", encoding="utf-8")
    write("train.py", CALLER)
    write("helper.py", GRAPH)


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def settle() -> None:
    """Let the folders' time stamps become older than the next run by more than file systems are inexact."""
    time.sleep(0.1)


CHECK = ["check", "--output-format", "json", "--no-progress"]


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    settle()
    command = [sys.executable, "-m", "torchmemlint", *CHECK, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def without(*arguments: str) -> Result:
    """A run that may not use the cache; in this process, which is spared the start-up."""
    return CliRunner().invoke(main, [*CHECK, *arguments, "--no-cache"])


def heavy(*arguments: str) -> list[str]:
    """Which of the large modules does a run load?"""
    settle()
    code = (
        "import sys\nfrom torchmemlint.cli import main\n"
        f"try:\n    main(['check', '-q', '--output-format', 'json', '--no-progress', *{list(arguments)!r}])\n"
        "except SystemExit as end:\n    assert end.code in (0, 1), end.code\n"
        "loaded = {'libcst', 'torch', 'torchmemlint.loader', 'torchmemlint.engine', 'torchmemlint.rules'}\n"
        "import json\nprint(json.dumps(sorted(loaded & set(sys.modules))), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return list(json.loads(result.stderr.splitlines()[-1]))


def same(*arguments: str) -> list[str]:
    """The codes found by a run that may use the cache, which are those of one that may not."""
    found, sure = process(*arguments), without(*arguments)
    assert (found.stdout, found.returncode) == (sure.stdout, sure.exit_code)
    return [each["code"] for each in json.loads(found.stdout)]


def store() -> Path:
    return Path(cache_folder(Config()))


def records() -> list[Path]:
    return sorted(store().glob("*.record"))


def stored(record: Path) -> dict[str, Any]:
    found = place.read(str(store()), record.stem)
    assert found is not None
    return found


def test_a_warm_run_loads_no_parser_and_says_the_same() -> None:
    cold = process()
    assert len(records()) == 1
    assert not heavy()
    warm, off, jobs = process(), process("--no-cache"), process("--jobs", "2")
    assert cold.stdout == warm.stdout == off.stdout == jobs.stdout
    assert cold.returncode == warm.returncode == 1
    assert [each["code"] for each in json.loads(warm.stdout)] == ["TML102"]


def test_without_the_cache_nothing_is_written() -> None:
    process("--no-cache")
    assert not records()


def _edit_the_callee() -> None:
    write("helper.py", NUMBER)


def _delete_the_callee() -> None:
    Path("helper.py").unlink()


def _rename_the_caller() -> None:
    Path("train.py").rename("other.py")


def _add_a_file() -> None:
    write("more/extra.py", CALLER.replace("from helper import keep", "def keep(x):\n    return x"))


def _silence() -> None:
    write("train.py", CALLER.replace("+= keep(loss)", "+= keep(loss)  # noqa: TML102"))


def _ignore_by_git() -> None:
    write(".gitignore", "train.py\n")


def _change_the_settings() -> None:
    write("pyproject.toml", '[tool.torchmemlint]\nignore = ["TML102"]\n')


def _break_the_syntax() -> None:
    write("train.py", CALLER + "def (\n")


def _edit_keeping_size_and_time() -> None:
    before = Path("helper.py").stat()
    write("helper.py", GRAPH.replace("loss * 2", "int(loss)"))
    assert Path("helper.py").stat().st_size == before.st_size + 1
    write("helper.py", GRAPH.replace("loss * 2", "int(loss)").replace("\n\n\n", "\n\n", 1))
    assert Path("helper.py").stat().st_size == before.st_size
    os.utime("helper.py", ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [
    (_edit_the_callee, []),
    (_delete_the_callee, None),
    (_rename_the_caller, ["TML102"]),
    (_add_a_file, ["TML102", "TML102"]),
    (_silence, []),
    (_ignore_by_git, []),
    (_change_the_settings, []),
    (_break_the_syntax, ["TML000"]),
    (_edit_keeping_size_and_time, []),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES, ids=[change.__name__[1:] for change, _ in CHANGES])
def test_every_change_is_seen(change: Callable[[], None], expected: list[str] | None) -> None:
    assert same() == ["TML102"]
    change()
    found = same()
    assert expected is None or found == expected
    assert same() == found
    assert not heavy()


def test_a_module_that_appears_outside_the_checked_paths_is_followed() -> None:
    Path("helper.py").unlink()
    before = same("train.py")
    write("helper.py", NUMBER)
    assert same("train.py") == []
    write("helper.py", GRAPH)
    assert same("train.py") == ["TML102"]
    Path("helper.py").unlink()
    assert same("train.py") == before


def test_a_package_that_appears_around_the_files_is_seen() -> None:
    write("pkg/train.py", CALLER.replace("from helper", "from .helper"))
    write("pkg/helper.py", GRAPH)
    first = same("pkg")
    write("pkg/__init__.py", "")
    assert same("pkg") == ["TML102"]
    Path("pkg/__init__.py").unlink()
    assert same("pkg") == first


def test_other_options_have_records_of_their_own() -> None:
    assert same() == ["TML102"]
    assert same("--ignore", "TML102") == []
    assert same("--select", "TML2") == []
    assert same() == ["TML102"]
    assert process("--select", "TML8").returncode == 2
    assert len(records()) == 3


def test_a_file_that_was_only_touched_is_not_checked_again() -> None:
    process()
    os.utime("helper.py")
    assert not heavy()
    old = time.time() - 60
    os.utime("helper.py", (old, old))
    assert not heavy()


def test_this_program_is_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state.program()
    assert state.program() == before
    (tmp_path / "site" / "rules_of_others-1.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    assert state.program() != before


@pytest.mark.parametrize("kind", range(3), ids=["cut", "noise", "other data"])
def test_broken_records_are_made_anew(kind: int) -> None:
    sure = process()
    (record,) = records()
    whole = record.read_bytes()
    for seed in range(kind, 9, 3):
        chance = random.Random(seed)
        record.write_bytes(whole)
        if kind == 0:
            record.write_bytes(whole[: chance.randrange(len(whole))])
        elif kind == 1:
            record.write_bytes(chance.randbytes(chance.randrange(4000)))
        else:
            data = stored(record)
            data[chance.choice(sorted(data))] = chance.choice([None, 3, "x", [[]], {"x": []}, {"train.py": None}])
            place.write(str(store()), record.stem, data)
        broken = process()
        assert (broken.stdout, broken.stderr, broken.returncode) == (sure.stdout, sure.stderr, sure.returncode), seed


def test_a_record_cannot_speak_of_files_that_were_not_checked() -> None:
    process()
    (record,) = records()
    data = stored(record)
    data["found"][0][0] = "/etc/passwd"
    place.write(str(store()), record.stem, data)
    assert same() == ["TML102"]


@pytest.mark.parametrize("where", ["a file", "below a file", "a device"])
def test_a_cache_that_cannot_be_written_is_no_error(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("occupied.txt", "")
    places = {"a file": "occupied.txt", "below a file": "occupied.txt/cache", "a device": os.devnull}
    monkeypatch.setenv(place.VARIABLE, str(Path(places[where]).absolute()))
    result = process()
    assert result.returncode == 1
    assert not result.stderr
    assert process().stdout == result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_full_disk_leaves_no_half_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(file: int, mode: str) -> object:
        os.close(file)
        return Path("/dev/full").open(mode, buffering=0)

    monkeypatch.setattr(place, "open", full, raising=False)
    place.write(str(tmp_path / "store"), "record", {"found": []})
    assert not [entry for entry in (tmp_path / "store").iterdir() if entry.suffix in (".record", ".tmp")]


def test_runs_at_once_and_killed_ones_leave_whole_records() -> None:
    command = [sys.executable, "-m", "torchmemlint", *CHECK]
    settle()
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    runs[0].kill()
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert outputs[1] == outputs[2]
    assert all(stored(record) for record in records())
    assert same() == ["TML102"]


def test_the_oldest_records_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    monkeypatch.setattr(place, "LIMIT", 2500)
    for number in range(4):
        place.write(str(folder), f"r{number}", {"text": "x" * 900})
        os.utime(folder / f"r{number}.record", (number, number)) if number < 3 else None
    assert sorted(path.name for path in folder.glob("*.record")) == ["r2.record", "r3.record"]
    assert (folder / "CACHEDIR.TAG").is_file()


def test_fixes_and_comments_work_on_what_the_cache_knows() -> None:
    write("train.py", FIXABLE)
    assert same() == ["TML102"]
    assert not heavy("--statistics")
    diff = without("--diff").stdout
    assert "detach" in diff
    assert process("--diff").stdout == diff
    process("--fix")
    assert "total += energy.detach()" in Path("train.py").read_text(encoding="utf-8")
    assert same() == []
    assert heavy("--fix") == ["torchmemlint.engine"]


def test_a_baseline_and_noqa_work_on_what_the_cache_knows() -> None:
    process()
    process("--baseline", "known.json")
    assert process("--baseline", "known.json").returncode == 0
    assert process().returncode == 1
    assert not heavy("--add-noqa")
    assert "# noqa: TML102" in Path("train.py").read_text(encoding="utf-8")
    assert same() == []


def test_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(place.VARIABLE)
    assert cache_folder(Config(cache_dir="here", root="top")) == str(Path("top", "here"))
    write("pyproject.toml", '[tool.torchmemlint]\ncache-dir = ".torchmemlint_cache"\n')
    process()
    assert len(list((tmp_path / ".torchmemlint_cache").glob("*.record"))) == 1
    assert not heavy()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/torchmemlint"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/torchmemlint"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/torchmemlint"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/torchmemlint"),
    ],
)
def test_the_users_cache(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(place.VARIABLE)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder(Config()) == expected.replace("/", os.sep)


def test_clean_removes_only_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    place.write(str(folder), "record", {})
    (folder / "mine.txt").write_text("", encoding="utf-8")
    assert place.clean_folder(str(folder))
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert not place.clean_folder(str(folder))
