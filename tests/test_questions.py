"""Questions that ask each other: the answers do not depend on who asks first, and settled interpretations stay."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections import Counter

import pytest
from indexing import function
from indexing import index as indexed

from torchmemlint.flow import program, questions
from torchmemlint.flow.questions import Bulk, Questions
from torchmemlint.index.project import ProjectIndex
from torchmemlint.source import Source

# What each question asks; its answer is itself and all that was answered. "f…" are interpretations.
RING = {"f1": ["a"], "a": ["f2"], "f2": ["b"], "b": ["f1"], "f3": ["a", "b"]}
CHAIN = {f"f{i}": [f"f{i + 1}"] for i in range(90)} | {"f90": []}


class Asked:
    """Answers questions over a graph, and counts how often each is worked out."""

    def __init__(self, graph: dict[str, list[str]], alike: bool = False, room: int = 1000) -> None:
        self.graph, self.runs = graph, Counter[str]()
        self.questions = Questions(room, lambda a, b: alike, Bulk())

    def ask(self, name: str) -> frozenset[str]:
        return self.questions.ask((name,), lambda: self._find(name), frozenset(), bulky=name.startswith("f"))

    def _find(self, name: str) -> frozenset[str]:
        self.runs[name] += 1
        return frozenset({name}).union(*map(self.ask, self.graph[name]))


@pytest.mark.parametrize("order", list(itertools.permutations(RING)))
def test_the_order_of_asking_changes_nothing(order: tuple[str, ...]) -> None:
    asked = Asked(RING)
    for name in order:
        asked.ask(name)
    assert {name: asked.ask(name) for name in RING} == {
        name: frozenset(RING) if name == "f3" else frozenset(RING) - {"f3"} for name in RING
    }


def test_nor_does_it_where_a_circle_is_too_wide_for_a_second_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "WIDE", 3)
    found = []
    for order in itertools.permutations(RING):
        asked = Asked(RING)
        answers = {name: asked.ask(name) for name in order}
        found.append({name: answers[name] for name in RING})
        assert max(asked.runs.values()) <= 4  # an interpretation is made anew from the answers, should it be asked for
    assert all(each == found[0] for each in found)
    assert found[0]["b"] != frozenset(RING) - {"f3"}  # what a second round would have found


def test_a_settled_circle_is_not_interpreted_again() -> None:
    asked = Asked(RING, alike=True)
    asked.ask("f1")
    runs = asked.runs.copy()
    for name in ("f1", "f2", "a", "b"):
        asked.ask(name)
    assert asked.runs == runs


def test_what_each_round_changes_is_interpreted_from_the_last_answers() -> None:
    asked = Asked(RING)
    asked.ask("f1")
    runs = asked.runs.copy()
    assert asked.ask("f2") == frozenset(RING) - {"f3"}
    assert asked.runs == runs + Counter(["f2"])


def test_long_chains_are_answered_from_their_far_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "DEEPEST", 20)
    asked = Asked(CHAIN)
    assert len(asked.ask("f0")) == len(CHAIN)
    assert max(asked.runs.values()) <= 10


def test_as_many_interpretations_are_kept_as_there_is_room_for() -> None:
    asked = Asked({f"f{i}": [] for i in range(5)}, room=3)
    for name in ("f0", "f1", "f2", "f0", "f3", "f0", "f2", "f1"):
        asked.ask(name)
    assert asked.runs == Counter({"f1": 2, "f0": 1, "f2": 1, "f3": 1})  # `f1` made room for `f3`: longest not asked for


def test_an_interpretation_that_is_made_again_weighs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "DEEPEST", 20)
    circles = {f"f{i}": [f"f{i + 1}", f"f{max(0, i - 30)}"] for i in range(90)} | {"f90": []}
    asked = Asked(circles, alike=True)
    for name in circles:
        asked.ask(name)
    assert asked.questions._load == len(asked.questions._bulky)


class Cyclic:
    """Like an interpretation it holds itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.own = self


def test_interpretations_that_are_not_kept_are_collected_by_their_weight() -> None:
    room, alive = 10, weakref.WeakSet[Cyclic]()
    questions = Questions(room, lambda a, b: False, Bulk())

    def answer() -> Cyclic:
        alive.add(made := Cyclic())
        return made

    gc.collect()
    gc.disable()  # as in a run
    try:
        for number in range(10 * room):
            questions.ask((number,), answer, Cyclic(), bulky=True)
    finally:
        gc.enable()
    assert len(alive) <= 2 * room + 1


class Lists(Bulk):
    """Bulky answers that are lists."""

    def within(self, answer: list[object]) -> list[object]:
        return answer

    def take_apart(self, answer: list[object]) -> None:
        answer.append("apart")


def test_what_is_no_longer_kept_is_taken_apart_when_nobody_reads_it() -> None:
    questions = Questions(2, lambda a, b: True, Lists())
    first: list[object] = ["first"]
    answers: list[list[object]] = [first, [first], ["other"], ["last"]]
    for number, answer in enumerate(answers):
        questions.ask((f"f{number}",), lambda answer=answer: answer, [], bulky=True)  # type: ignore[misc]
        questions.tidy()
        if number == 2:
            assert first == ["first"]  # the second, which is kept, holds it
    assert [answer[-1] for answer in answers] == ["apart", "apart", "other", "last"]


def test_rounds_of_a_circle_are_taken_apart_but_for_the_last() -> None:
    class Cut(Bulk):
        def take_apart(self, answer: frozenset[str]) -> None:
            gone.append(answer)

    gone: list[frozenset[str]] = []
    asked = Asked(RING, alike=True, room=20)
    asked.questions.bulk = Cut()
    asked.ask("a")
    asked.questions.tidy()
    made = sum(count for name, count in asked.runs.items() if name.startswith("f"))
    assert len(gone) == made - 2
    assert asked.ask("f1") == asked.ask("f2")
    assert sum(count for name, count in asked.runs.items() if name.startswith("f")) == made


def test_interpretations_that_are_let_go_of_need_no_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "ROOM", 1)
    body = "(model, x):\n    for _ in x:\n        y = model(x)\n        x = y + x\n    return x\n"
    text = f"import torch\ndef one{body}\ndef two{body}"
    file = indexed(text)
    kept = program.Program(ProjectIndex({file.path: file}))
    kept.provide(Source(file.path, text.encode()))
    flows = (kept.flow(function(file, name)) for name in ("one", "two"))
    gc.disable()
    try:
        frames = [weakref.ref(flow.frame) for flow in flows if flow is not None]
        kept.questions.tidy()
        assert [frame() is None for frame in frames] == [True, False]
    finally:
        gc.enable()
