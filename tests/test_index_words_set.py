"""Words in little memory behave as a set."""

from __future__ import annotations

import pickle

import pytest

from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.index.naming import Naming
from torchmemlint.index.project import ProjectIndex
from torchmemlint.index.words import LONG, NO_WORDS, Words

MANY = frozenset(f"word{number}" for number in range(LONG))


@pytest.mark.parametrize(
    "known", [frozenset[str](), frozenset({"a"}), frozenset({"ab", "b", "@calls x", "größe"}), MANY]
)
@pytest.mark.parametrize("other", [frozenset[str](), frozenset({"a", ""}), frozenset({"b", "a\nb", "word7"}), MANY])
def test_a_set(known: frozenset[str], other: frozenset[str]) -> None:
    words = Words(known)
    assert words == known
    assert known == words
    assert len(words) == len(known)
    assert bool(words) == bool(known)
    assert sorted(words) == sorted(known)
    assert words.spread() == known
    assert all(word in words for word in known)
    assert not any(word in words for word in other - known)
    assert words & other == other & words == known & other
    assert words | other == other | words == known | other
    assert words - other == known - other
    assert other - words == other - known
    assert words.isdisjoint(other) == known.isdisjoint(other) == other.isdisjoint(words)
    assert (words <= other) == (known <= other)
    assert (other <= words) == (other <= known)


def test_equal_and_pickled() -> None:
    words = Words(["b", "a", "b"])
    assert words == Words(["a", "b"])
    assert hash(words) == hash(Words(["a", "b"]))
    assert words != NO_WORDS
    assert pickle.loads(pickle.dumps(words)) == words
    assert repr(words) == "Words(['a', 'b'])"


def test_files_that_name_a_word() -> None:
    named = [{"a", "b"}, {"b"}, {"c"}, set(), {"b", "c"}]
    files = [FileIndex(f"{at}.py", f"m{at}", False, True, 1, words=Words(words)) for at, words in enumerate(named)]
    naming = Naming(files)
    for word in "abcd":
        assert list(naming.files(word)) == [file for file in files if word in file.words]


def test_mentions_in_order() -> None:
    def info(path: str, word: str) -> FunctionInfo:
        return FunctionInfo(f"m:{word}", path, word, word, None, 1, 1, 1, 1, 0, words=Words([word, "all"]))

    def made(path: str, *words: str) -> FileIndex:
        functions = {f"m:{word}": info(path, word) for word in words}
        return FileIndex(path, "m", False, True, 1, functions=functions, words=Words([*words, "all"]))

    project = ProjectIndex({path: made(path, *"xyz") for path in ("b.py", "a.py")})
    assert [info.path + info.name for info in project.mentions("all")] == [
        path + word for path in ("b.py", "a.py") for word in "xyz"
    ]
    assert [info.path for info in project.mentions("y")] == ["b.py", "a.py"]
    assert project.linked_name_any("a.py", frozenset({"y"}))
    assert not project.linked_name_any("a.py", frozenset({"w"}))
