"""What is known file by file: each index, and the findings with what they rest on, for a run in which little changed.

An index holds as long as the file's bytes, name and module do. The findings of a file hold as long as its bytes do, and
as every look-up in the project that was made for them, by any question that was asked for them, is answered as it was.
What does not look like a shelf is no shelf: the run is then made from nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torchmemlint.cache import place, plain, state
from torchmemlint.cache.grounds import Grounds, root
from torchmemlint.files import Indexed, Item
from torchmemlint.findings import Diagnostic
from torchmemlint.index import plain as plain_index
from torchmemlint.index.model import FileIndex
from torchmemlint.index.project import ProjectIndex
from torchmemlint.index.stamps import Stamps

ERRORS = (ValueError, TypeError, KeyError, AttributeError, IndexError)


@dataclass
class Shelf:
    """The parts of a run. `name`: of the record; `program`: the hash of this program."""

    folder: str
    name: str
    program: str
    indexed: dict[str, tuple[Item, Indexed]] = field(default_factory=dict)
    found: dict[str, list[Diagnostic]] = field(default_factory=dict)
    grounds: Grounds = field(default_factory=Grounds)
    _old: dict[str, Any] = field(default_factory=dict)
    _served: set[str] = field(default_factory=set)  # files that are as they were
    _reused: Grounds = field(default_factory=Grounds)  # what the findings rest on that are those of the earlier run

    @classmethod
    def open(cls, folder: str, name: str, program: str) -> Shelf:
        """The shelf of that name with what an earlier run left on it, if this program made it."""
        shelf = cls(folder, name, program)
        record = place.read(folder, name, place.PARTS)
        if record is not None and record.get("program") == program and isinstance(record.get("files"), dict):
            shelf._old = record
        return shelf

    # what an earlier run knew

    def index(self, item: Item) -> Indexed | None:
        """The file's index if it is as it was."""
        try:
            entry = self._old["files"].get(item.path) if self._old else None
            if entry is None or entry["item"] != _described(item) or not _same(item.path, entry["state"]):
                return None
            result = _to_indexed(item.path, entry)
        except ERRORS:
            self._old = {}
            return None
        self._served.add(item.path)
        return result

    def reusable(self, indexes: Mapping[str, FileIndex], paths: Iterable[str]) -> dict[str, list[Diagnostic]]:
        """The findings of those files whose findings can't have changed."""
        try:
            wanted = {p: self._old["files"][p]["found"] for p in paths if p in self._served} if self._old else {}
            known = {p: [plain.loaded(each) for each in found] for p, found in wanted.items() if found is not None}
            if not known or not all({d.filename for d in found} <= {p} for p, found in known.items()):
                return {}
            old = _to_grounds(self._old)
            dirty = self._dirty(old, set(map(root, known)), indexes)
        except ERRORS:
            return {}
        reused = {path: found for path, found in known.items() if root(path) not in dirty}
        self._reused = old.only(set(map(root, reused)))
        self.found.update(reused)
        return reused

    def _dirty(self, old: Grounds, roots: set[int], indexes: Mapping[str, FileIndex]) -> set[int]:
        from torchmemlint.cache.replay import Replay

        replay = Replay(ProjectIndex(dict(indexes)), self.stamps())
        wanted = old.below(roots)
        looks = ((name, look, known) for name, (look, known) in old.looks.items() if name in wanted)
        return old.above(replay.changed(looks))

    # what this run knows

    def keep(self, item: Item, result: Indexed) -> None:
        """Put an index on the shelf."""
        self.indexed[item.path] = item, result

    def stamps(self) -> dict[str, Stamps]:
        """The stamps of the files that have an index."""
        return {path: result.stamps for path, (_, result) in self.indexed.items() if result.stamps is not None}

    def note(self, path: str, found: list[Diagnostic], grounds: Grounds | None) -> None:
        """The findings of a file, and what it was that was not told before on which they rest. Where that is not known
        they are not kept."""
        if grounds is None:
            self.found.pop(path, None)
        else:
            self.found[path] = found
            self.grounds.add(grounds)

    def write(self, states: Mapping[str, list[Any]]) -> None:
        """Write the shelf: what was kept, and what is still reused of the old one."""
        resting = self._resting()
        if resting is None or not self.indexed.keys() <= states.keys():
            return
        files = {path: self._entry(path, item, result, states[path]) for path, (item, result) in self.indexed.items()}
        record = {"program": self.program, "files": files, **_plain_grounds(resting)}
        place.write(self.folder, self.name, record, place.PARTS)

    def _entry(self, path: str, item: Item, result: Indexed, known: list[Any]) -> dict[str, Any]:
        found = self.found.get(path)
        return {
            "item": _described(item),
            "state": known,
            "index": None if result.file is None else plain_index.dumped(result.file),
            "imports": list(result.imports),
            "failure": None if result.failure is None else plain.dumped(result.failure),
            "stamps": None if result.stamps is None else _plain_stamps(result.stamps),
            "found": None if found is None else [plain.dumped(each) for each in found],
        }

    def _resting(self) -> Grounds | None:
        """What the findings on the shelf rest on, and nothing else; None where not all is known."""
        whole, roots = Grounds(), set(map(root, self.found))
        whole.add(self._reused)
        whole.add(self.grounds)
        unknown = whole.below(roots) - roots - whole.asked.keys() - whole.looks.keys()
        return None if unknown else whole.only(roots)


def _described(item: Item) -> list[Any]:
    return [item.module, item.is_package, item.named]


def _same(path: str, known: list[Any]) -> bool:
    """Is the file's content what it was?"""
    *before, digest, settled = known
    now = state.status(path)
    if settled is True and now == before:
        return True
    return bool(digest) and state.digest(path) == digest


def _to_indexed(path: str, entry: dict[str, Any]) -> Indexed:
    index = None if entry["index"] is None else plain_index.loaded(entry["index"])
    failure = None if entry["failure"] is None else plain.loaded(entry["failure"])
    stamps = None if entry["stamps"] is None else _to_stamps(entry["stamps"])
    if index is not None and (index.path != path or stamps is None):
        raise ValueError("another file's index")
    if failure is not None and failure.filename != path:
        raise ValueError("another file's failure")
    if not all(isinstance(name, str) for name in entry["imports"]):
        raise ValueError("not a list of texts")
    return Indexed(index, tuple(entry["imports"]), failure, stamps)


def _plain_stamps(stamps: Stamps) -> list[Any]:
    return [stamps.text, stamps.header, stamps.functions, stamps.classes]


def _to_stamps(data: Any) -> Stamps:
    text, header, functions, classes = data
    return Stamps(text, header, dict(functions), dict(classes))


def _plain_grounds(grounds: Grounds) -> dict[str, Any]:
    """Numbers by their place: questions first, then look-ups, whose texts are by their place too."""
    places = {name: at for at, name in enumerate((*grounds.asked, *grounds.looks))}
    for found in grounds.asked.values():
        for name in found:
            places.setdefault(name, len(places))  # a question that rests on nothing
    texts: dict[str, int] = {}
    looks = [[texts.setdefault(part, len(texts)) for part in look] for look, _ in grounds.looks.values()]
    return {
        "names": list(places),
        "asked": [[places[name] for name in found] for found in grounds.asked.values()],
        "looks": looks,
        "answers": [answer for _, answer in grounds.looks.values()],
        "texts": list(texts),
    }


def _to_grounds(record: dict[str, Any]) -> Grounds:
    names, texts, asked, looks = record["names"], record["texts"], record["asked"], record["looks"]
    made = {name: {names[at] for at in found} for name, found in zip(names, asked)}
    told = zip(names[len(asked) :], looks, record["answers"])
    return Grounds(made, {name: (tuple(texts[at] for at in look), answer) for name, look, answer in told})
