"""The cache file by file: after an edit a run says what one from nothing says, and checks what rests on the edit."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from torchmemlint.cache import cache_folder, place, replay
from torchmemlint.cache.grounds import Grounds
from torchmemlint.cli import main
from torchmemlint.config import Config
from torchmemlint.files import FileChecker
from torchmemlint.index.build import index_source
from torchmemlint.index.project import ProjectIndex
from torchmemlint.index.stamps import stamps
from torchmemlint.source import Source, read

CHECK = ["check", "--output-format", "json", "--no-progress", "--select", "TML"]

HELPER = "import torch\n\n\ndef keep(loss):\n    return {}\n"
TRAIN = """\
import torch
from {module} import {name}


def train(model: torch.nn.Module, loader):
    total, kept = 0.0, []
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        total += {name}(loss)
        kept.append({name}(loss))
    print(total, len(kept))
"""
NET = """\
import torch
{imports}


class Net({base}):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.seen = []

    def forward(self, x):
        h = self.layer(x)
        self.last = h
        self.seen.append(h{detached})
        return h
"""
EVALUATE = """\
import torch
from net import Net


def evaluate(net: Net, loader):
    outputs = []
    {mode}
        for x in loader:
            outputs.append(net(x))
    return outputs
"""
RUN = "import torch\nfrom evaluate import evaluate\nfrom net import Net\n\n\n{}\n    evaluate(Net(), loader)\n"
READER = "import torch\nfrom net import Net\n\n\ndef report(net: Net):\n    {}\n"
CIRCLE = "import torch\nfrom {other} import {asked}\n\n\ndef {name}(x, n):\n    return {result} if n else {end}\n"
HEIR = "import torch\nfrom net import Net\n\n\nclass Heir(Net):\n    def {}(self, x):\n        {}\n        return x\n"

VARIANTS: dict[str, Sequence[str | None]] = {
    "helper.py": [HELPER.format(text) for text in ("loss * 2", "loss.item() * 2", "loss.detach()", "float(loss)")]
    + [HELPER.format("loss") + "\n\nKEPT = []\n", "\n\n# moved down\n" + HELPER.format("loss * 2"), "import torch\n"],
    "train.py": [
        TRAIN.format(module="helper", name="keep"),
        TRAIN.format(module="ring_a", name="ring_a").replace("(loss)", "(loss, 3)"),
        TRAIN.format(module="helper", name="keep").replace("loss.backward()", "loss.item()"),
        TRAIN.format(module="helper", name="keep").replace("print(total", "total.backward()\n    print(total"),
        TRAIN.format(module="helper", name="keep") + "    def (\n",
    ],
    "net.py": [
        NET.format(imports="", base="torch.nn.Module", detached=""),
        NET.format(imports="", base="torch.nn.Module", detached=".detach()"),
        NET.format(imports="from base import Base", base="Base", detached=""),
        NET.format(imports="", base="object", detached=""),
    ],
    "base.py": [
        "import torch\n\n\nclass Base(torch.nn.Module):\n    def clear(self):\n        self.seen.clear()\n",
        "import torch\n\n\nclass Base(torch.nn.Module):\n    def clear(self):\n        pass\n",
        "import torch\n\n\nclass Base:\n    pass\n",
        None,
    ],
    "evaluate.py": [
        EVALUATE.format(mode="with torch.no_grad():"),
        EVALUATE.format(mode="if net.training:"),
        EVALUATE.format(mode="with torch.no_grad():").replace(
            "return outputs", "return torch.cat(outputs).sum().item()"
        ),
    ],
    "run.py": [
        RUN.format("def main(loader):"),
        RUN.format("@torch.no_grad()\ndef main(loader):"),
        "import torch\nfrom net import Net\n\n\ndef main(loader):\n    net = Net()\n    for x in loader:\n"
        "        net(x).sum().backward()\n",
        None,
    ],
    "reader.py": [
        READER.format("print(net.last.sum().item())"),
        READER.format("net.last.sum().backward()"),
        READER.format("net.seen.clear()"),
        READER.format("return [h.cpu() for h in net.seen]"),
        None,
    ],
    "heir.py": [
        HEIR.format("forward", "self.seen = []"),
        HEIR.format("reset", "self.last = None"),
        HEIR.format("forward", "self.last = x.detach()"),
        None,
    ],
    "ring_a.py": [
        CIRCLE.format(other="ring_b", asked="ring_b", name="ring_a", result="ring_b(x, n - 1)", end=end)
        for end in ("x", "x.item()", "x.detach()")
    ],
    "ring_b.py": [
        CIRCLE.format(other="ring_a", asked="ring_a", name="ring_b", result="ring_a(x, n - 1)", end=end)
        for end in ("x * 2", "float(x)")
    ]
    + ["import torch\n\n\ndef ring_b(x, n):\n    return x.item()\n"],
    "loop.py": [
        TRAIN.format(module="ring_a", name="ring_a").replace("(loss)", "(loss, 3)"),
        TRAIN.format(module="ring_b", name="ring_b").replace("(loss)", "(loss, 3)"),
    ],
    "apart.py": [TRAIN.format(module="math", name="keep"), "import torch\n\nKEPT = []\n", None],
}


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("[tool.torchmemlint]\n", encoding="utf-8")
    for name, variants in VARIANTS.items():
        Path(name).write_text(variants[0] or "", encoding="utf-8")
    time.sleep(0.1)


def put(name: str, text: str | None) -> None:
    """Write or remove a file; the folder's time stamp becomes older than the next run."""
    there = Path(name).exists()
    if text is None:
        Path(name).unlink(missing_ok=True)
    else:
        Path(name).write_text(text, encoding="utf-8")
    if there != (text is not None):
        time.sleep(0.1)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose findings are looked for, as they are."""
    names: list[str] = []
    check = FileChecker.check

    def noted(checker: FileChecker, path: str) -> Any:
        names.append(path)
        return check(checker, path)

    monkeypatch.setattr(FileChecker, "check", noted)
    return names


def run(*options: str) -> Result:
    result = CliRunner().invoke(main, [*CHECK, *options])
    assert result.exit_code in (0, 1), result.output
    return result


def same(*options: str) -> str:
    """What a run that may use the cache says, which is what one says that may not."""
    found, sure = run(*options), run(*options, "--no-cache")
    assert (found.stdout, found.stderr) == (sure.stdout, sure.stderr)
    return found.stdout


def parts() -> list[Path]:
    return sorted(Path(cache_folder(Config())).glob(f"*{place.PARTS}"))


@pytest.mark.parametrize("seed", range(2))
def test_random_edits_say_what_a_run_from_nothing_says(seed: int, checked: list[str]) -> None:
    chance, said = random.Random(seed), set()
    spared = 0
    for _ in range(30):
        for name in chance.sample(sorted(VARIANTS), chance.choice([1, 1, 2, 3])):
            put(name, chance.choice(VARIANTS[name]))
        checked.clear()
        said.add(same())
        spared += len(list(Path().glob("*.py"))) * 2 - len(checked)
    assert len(said) > 5  # the edits matter to what is found
    assert spared > 100  # and yet most of the files are spared


EDITS: list[tuple[str, int, set[str]]] = [
    ("apart.py", 1, {"apart.py"}),
    ("helper.py", 5, {"helper.py", "train.py"}),
    ("ring_b.py", 1, {"loop.py", "ring_a.py", "ring_b.py"}),
    ("train.py", 2, {"helper.py", "train.py"}),
]


@pytest.mark.parametrize(("name", "variant", "expected"), EDITS)
def test_an_edit_checks_what_rests_on_it(name: str, variant: int, expected: set[str], checked: list[str]) -> None:
    run()
    put(name, VARIANTS[name][variant])
    checked.clear()
    run()
    assert name in checked
    assert set(checked) <= expected
    same()


def test_what_was_reused_is_kept_for_the_next_run(checked: list[str]) -> None:
    run()
    for text in ("# one\n", "# two\n", "# three\n"):
        put("apart.py", (VARIANTS["apart.py"][0] or "") + text)
        checked.clear()
        same()
        assert checked[:1] == ["apart.py"]
        assert checked[1:] == sorted(name for name in VARIANTS)  # the run that may not


def test_a_file_that_appears_is_no_reason_to_check_the_others(checked: list[str]) -> None:
    run()
    put("another.py", "import torch\n\n\ndef unheard_of(x):\n    return x\n")
    checked.clear()
    run()
    assert checked == ["another.py"]
    same()


@pytest.mark.parametrize("kind", range(3), ids=["cut", "noise", "other data"])
def test_broken_parts_are_made_anew(kind: int) -> None:
    same()
    (record,) = parts()
    whole = record.read_bytes()
    for seed in range(4):
        chance = random.Random(seed)
        put("apart.py", (VARIANTS["apart.py"][0] or "") + f"# {kind} {seed}\n")
        if kind == 0:
            record.write_bytes(whole[: chance.randrange(len(whole))])
        elif kind == 1:
            record.write_bytes(chance.randbytes(chance.randrange(4000)))
        else:
            data = place.read(str(record.parent), record.stem, place.PARTS)
            assert data is not None
            _spoil(data, chance)
            place.write(str(record.parent), record.stem, data, place.PARTS)
        same()


def _spoil(data: dict[str, Any], chance: random.Random) -> None:
    """Put something else somewhere into a record."""
    other: Any = chance.choice([None, 3, "x", [[]], {"x": []}, {"train.py": None}])
    if chance.random() < 0.5:
        data[chance.choice(sorted(data))] = other
        return
    entry = data["files"][chance.choice(sorted(data["files"]))]
    entry[chance.choice(["item", "state", "imports", "stamps"])] = other


def test_parts_cannot_speak_of_files_that_were_not_checked() -> None:
    run()
    (record,) = parts()
    data = place.read(str(record.parent), record.stem, place.PARTS)
    assert data is not None
    data["files"]["train.py"]["found"][0][0] = "/etc/passwd"
    place.write(str(record.parent), record.stem, data, place.PARTS)
    put("apart.py", "import torch\n")
    same()


def test_too_large_parts_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "LIMIT", 8000)
    same()
    assert not parts()
    assert same() == same()


def test_clean_takes_the_parts_away() -> None:
    run()
    assert parts()
    place.clean_folder(cache_folder(Config()))
    assert not parts()


def test_several_processes_note_what_one_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchmemlint.engine.POOL_FILES", 2)
    run("--jobs", "2")
    shelves = [_resting()]
    for record in parts():
        record.unlink()
    for record in Path(cache_folder(Config())).glob("*.record"):
        record.unlink()
    run("--jobs", "1")
    shelves.append(_resting())
    assert shelves[0].looks == shelves[1].looks
    assert shelves[0].asked.keys() == shelves[1].asked.keys()
    put("helper.py", VARIANTS["helper.py"][1])
    same("--jobs", "2")


def _resting() -> Grounds:
    from torchmemlint.cache.shelf import _to_grounds

    (record,) = parts()
    data = place.read(str(record.parent), record.stem, place.PARTS)
    assert data is not None
    return _to_grounds(data)


def _indexed(folder: Path) -> dict[str, Source]:
    return {str(path): read(str(path)) for path in sorted(folder.rglob("*.py"))}


def test_every_look_up_can_be_asked_again() -> None:
    run()
    sources = _indexed(Path())
    files = {name: index_source(text, Path(name).stem, False) for name, text in sources.items()}
    known = {name: stamps(sources[name], index) for name, index in files.items()}
    looks = _resting().looks
    again = replay.Replay(ProjectIndex(files), known)
    assert len(looks) > 60
    assert not again.changed((name, look, answer) for name, (look, answer) in looks.items())
