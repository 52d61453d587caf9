"""What the cache by file stands on: indexes as plain data, stamps of what they tell, look-ups that are noted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from torchmemlint.cache import place, replay
from torchmemlint.cache.grounds import Grounds, Stamper
from torchmemlint.cache.shelf import Shelf
from torchmemlint.files import Indexed, Item
from torchmemlint.index import plain
from torchmemlint.index.build import index_source, module_name
from torchmemlint.index.stamps import stamps
from torchmemlint.index.view import View
from torchmemlint.source import Source, read

KEEP = "import torch\n\n\ndef keep(loss):\n    return loss\n"
ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("folder", ["fixtures", "rules", "torchmemlint/flow"])
def test_an_index_comes_back_from_json_as_it_was(folder: str) -> None:
    for path in sorted(map(str, (ROOT / folder).rglob("*.py"))):
        text = read(path)
        index = index_source(text, *module_name(path))
        assert plain.loaded(json.loads(json.dumps(plain.dumped(index)))) == index
        assert stamps(text, index) == stamps(text, plain.loaded(plain.dumped(index)))


def test_every_kind_of_look_up_is_known_to_the_replay() -> None:
    kinds = replay.OF_FUNCTION | replay.OF_CLASS | replay.OF_FILE | replay.OF_TEXT | {"resolve"}
    asked = {name for name, value in vars(View).items() if callable(value) and not name.startswith("_")}
    assert asked - kinds == {"seen", "body", "attribute_readers", "marks"}  # made of the others
    assert kinds <= asked


BEHIND = re.compile(r"\bindex\.(words|functions|classes)\b|\bproject\.project\b|\bproject\.files\b")


@pytest.mark.parametrize("folder", ["rules", "torchmemlint/flow"])
def test_the_analysis_reads_the_project_through_its_view(folder: str) -> None:
    found = {
        (path.name, match[0])
        for path in (ROOT / folder).rglob("*.py")
        for match in BEHIND.finditer(path.read_text(encoding="utf-8"))
    }
    assert found <= {("program.py", "project.project")}  # to read a unit, of which all is noted


CHANGES: list[tuple[Callable[[str], str], set[str]]] = [
    (lambda text: "# above\n" + text, set()),
    (lambda text: text.replace("return loss", "return -loss"), {"keep"}),
    (lambda text: text.replace("import torch\n", "import torch, math\n"), {""}),
    (lambda text: text + "\n\ndef other():\n    pass\n", {""}),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_stamps_tell_what_changed_but_not_where_it_stands(change: Callable[[str], str], expected: set[str]) -> None:
    found = []
    for text in (KEEP, change(KEEP)):
        source = Source("m.py", text.encode())
        index = index_source(source, "m", False)
        known = stamps(source, index).functions
        found.append({info.qualname: known[key] for key, info in index.functions.items()})
    assert {name for name in found[0] if found[0][name] != found[1][name]} - {""} == expected - {""}


def test_a_shelf_of_another_program_is_empty(tmp_path: Path) -> None:
    place.write(str(tmp_path), "name", {"program": "one", "files": {}}, place.PARTS)
    assert Shelf.open(str(tmp_path), "name", "one")._old
    assert not Shelf.open(str(tmp_path), "name", "two")._old


def test_findings_of_which_nothing_is_noted_are_not_kept(tmp_path: Path) -> None:
    shelf = Shelf.open(str(tmp_path), "name", "one")
    for path, grounds in (("kept.py", Grounds()), ("lost.py", None)):
        shelf.keep(Item(path, "", False), Indexed())
        shelf.note(path, [], grounds)
    shelf.write({"kept.py": [], "lost.py": []})
    written = place.read(str(tmp_path), "name", place.PARTS)
    assert written is not None
    assert {path: entry["found"] for path, entry in written["files"].items()} == {"kept.py": [], "lost.py": None}


def test_answers_count_with_the_contents_of_what_they_name() -> None:
    source = Source("m.py", KEEP.encode())
    index = index_source(source, "m", False)
    stamper = Stamper({"m.py": stamps(source, index)})
    (keep,) = (info for info in index.functions.values() if info.name)
    assert stamper.of(("lookup", "m.py", "keep"), keep) == stamper.stamps["m.py"].functions[keep.id]
    assert stamper.of(("mentions", "keep", ""), [keep]) != stamper.of(("mentions", "keep", ""), [])
    assert stamper.of(("mentioned", "keep", ""), True) != stamper.of(("mentioned", "keep", ""), False)
