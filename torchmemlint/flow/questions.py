"""Questions about the program and their answers: each is answered once, and never depends on who asked first.

Answers ask for other answers. Where they ask in a circle, the circle (a strongly connected component, found as in
Tarjan's algorithm) is run from its least key: a first round in which a question that is already being answered gives
its `cut`, a second, unless the circle is WIDE, in which it gives the first round's answer. What was found on other ways
into the circle is dropped, so the order of files and the number of processes change nothing. (Of circles of more than
WIDEST questions, or in which more than DEEPEST wait for each other, this is not quite true: they are cut where it gets
too much.)"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

Key = tuple[Any, ...]
V = TypeVar("V")
ROUNDS = 2
DEEPEST = 250  # questions that wait for each other; a longer chain is answered from its far end
WIDE = 200  # questions of one circle: the answers of a wider one are those of its first round
LITTLE = 20  # what weighs less than this part of the room is not worth taking apart
WIDEST = 3_000  # questions of one circle: the first file that leads into it pays for all of them


@dataclass(eq=False, slots=True)
class _Open:
    """A question whose circle is not closed yet."""

    key: Key
    answer: Callable[[], Any]
    cut: Any
    bulky: bool
    place: int = 0  # in the stack of open questions
    low: int = 0  # the least place that it depends on
    value: Any = None
    done: bool = False


class _TooDeep(BaseException):
    """Unwinds a long chain of questions; the last is then answered first."""

    def __init__(self, asked: _Open, chain: set[Key]) -> None:
        self.asked = asked
        self.chain = chain  # the keys that wait for it


class Bulk:
    """What is to be known of bulky answers; of these, that each weighs the same."""

    def weight(self, answer: Any) -> int:
        """How much memory it takes."""
        return 1

    def within(self, answer: Any) -> Iterable[Any]:
        """The other bulky answers that it holds."""
        return ()

    def take_apart(self, answer: Any) -> None:
        """Cut the cycles in which it holds itself: nobody reads it any more."""


class Questions:
    """Answers kept by key: small ones for good, bulky ones (interpretations) as long as there is room. Small answers
    hold no bulky ones."""

    def __init__(self, room: int, alike: Callable[[Any, Any], bool], bulk: Bulk) -> None:
        """`room`: how much the bulky answers that are kept may weigh together; `alike` compares small answers."""
        self.room = room
        self.alike = alike
        self.bulk = bulk
        self._load = 0  # what the bulky answers weigh by now
        self._made = 0  # what those weigh that were made and not collected since
        self._held = 0  # what those weigh whose circle is not closed yet
        self._answers: dict[Key, Any] = {}
        self._bulky: OrderedDict[Key, Any] = OrderedDict()
        self._left: list[Any] = []  # bulky answers that are no longer kept
        self._left_load = 0
        self._open: dict[Key, _Open] = {}
        self._stack: list[_Open] = []
        self._path: list[_Open] = []
        self._earlier: dict[Key, _Open] = {}
        self._rounds: dict[Key, int] = {}
        self._far: set[Key] = set()
        self._above: list[set[Key]] = []  # the chains that wait for their far ends
        self._circular = False  # has the far end of a chain led back into it?
        self.noting = False  # is what answers rest on noted?
        self._grounds: dict[Key, set[Key]] = {}
        self._noted: set[Key] = set()

    def ask(self, key: Key, answer: Callable[[], V], cut: V, *, bulky: bool = False) -> V:
        """The answer to a question; `answer` finds it, `cut` stands for it while it is being found.

        The first part of a key says what is asked; with the rest it must tell all that the answer depends on."""
        if self.noting:
            self._noted.add(key)
        if bulky and key in self._bulky:
            self._bulky.move_to_end(key)
            return cast("V", self._bulky[key])
        if key in self._answers:
            return cast("V", self._answers[key])
        known = self._open.get(key)
        if known is not None:
            self._lean(known)
            return cast("V", known.value if known.done else self._before(known))
        asked = _Open(key, answer, cut, bulky)
        if not self._path:
            return cast("V", self._outermost(asked))
        if len(self._stack) > WIDEST:
            return cut
        if len(self._path) < DEEPEST:
            return cast("V", self._find(asked))
        if key in self._far or self._circular:
            return cut
        raise _TooDeep(asked, {waits.key for waits in self._path})

    def _before(self, asked: _Open) -> Any:
        """What stands for an answer while it is being found."""
        earlier = self._earlier.get(asked.key)
        return earlier.value if earlier is not None else asked.cut

    def tidy(self) -> None:
        """Take apart the bulky answers that are no longer kept, as the collector looks long for their cycles. Only for
        when nobody reads one."""
        if self._left_load < self.room // LITTLE:
            return
        held = {id(inner) for answer in self._bulky.values() for inner in self.bulk.within(answer)}
        left, self._left, self._left_load = self._left, [], 0
        for answer in left:
            if id(answer) in held:
                self._leave(answer)
            else:
                self._made -= self.bulk.weight(answer)
                self.bulk.take_apart(answer)

    def _leave(self, answer: Any) -> None:
        self._left.append(answer)
        self._left_load += self.bulk.weight(answer)

    def note(self, key: Key) -> None:
        """What is being answered rests on this too: another question, a look-up."""
        if self.noting:
            self._noted.add(key)

    def taken(self) -> dict[Key, set[Key]]:
        """What was noted since the last time, by question."""
        taken, self._grounds = self._grounds, {}
        return taken

    @contextmanager
    def about(self, key: Key) -> Iterator[None]:
        """What is noted within is noted of `key`, and `key` of what is being answered."""
        self.note(key)
        outer = self._noted
        if self.noting:
            self._noted = self._grounds.setdefault(key, set())
        try:
            yield
        finally:
            self._noted = outer

    def lean_on(self, key: Key) -> None:
        """Note that what is being answered uses something unfinished of that question, if it is open."""
        self.note(key)
        known = self._open.get(key)
        if known is not None:
            self._lean(known)

    def _lean(self, known: _Open) -> None:
        if self._path:
            self._path[-1].low = min(self._path[-1].low, known.place)

    def _outermost(self, asked: _Open) -> Any:
        """Answer a question that none waits for; a chain that is too long is answered from its far end first. A circle
        has no far end: one that is too long is cut where it gets too deep."""
        waiting = [asked]
        while True:
            try:
                value = self._find(waiting[-1])
            except _TooDeep as deep:
                self._above.append(deep.chain)
                self._give_up()
                self._far.add(deep.asked.key)
                waiting.append(deep.asked)
                continue
            except BaseException:
                self._above.clear()
                self._circular = False
                self._give_up()
                raise
            self._circular = False
            waiting.pop()
            if not waiting:
                return value
            self._above.pop()

    def _give_up(self) -> None:
        """Forget what is half done: an error may come in the middle of a step, and must not change later answers."""
        for unfinished in (self._stack, self._path, self._open, self._rounds, self._earlier):
            unfinished.clear()
        self._held = 0

    def _find(self, asked: _Open) -> Any:
        """Answer an open question; close its circle if it is the head."""
        asked.place = asked.low = len(self._stack)
        asked.done = False  # it may have been answered before, and its circle given up
        self._stack.append(asked)
        self._open[asked.key] = asked
        self._path.append(asked)
        self._circular = self._circular or any(asked.key in chain for chain in self._above)
        outer = self._noted
        if self.noting:
            self._noted = self._grounds.setdefault(asked.key, set())
        try:
            asked.value = asked.answer()
            asked.done = True
        finally:
            self._noted = outer
            self._path.pop()
            if not asked.done:
                self._drop(asked.place)
        if asked.bulky:
            self._weigh(asked.value)
        if asked.low < asked.place:
            self._path[-1].low = min(self._path[-1].low, asked.low)
            return asked.value
        return self._close(asked)

    def _weigh(self, value: Any) -> None:
        """Interpretations hold themselves in cycles: those that are no longer kept are collected when they weigh half
        as much as those that may be kept."""
        weight = self.bulk.weight(value)
        self._made += weight
        self._held += weight
        if self._made - self._held - self._load > self.room // 2:
            self._made = self._held + self._load
            self._left, self._left_load = [], 0
            gc.collect()

    def _drop(self, place: int) -> list[_Open]:
        members = self._stack[place:]
        del self._stack[place:]
        for member in members:
            del self._open[member.key]
            if member.bulky and member.done:
                self._held -= self.bulk.weight(member.value)
        return members

    def _close(self, head: _Open) -> Any:
        members = self._drop(head.place)
        if len(members) == 1:
            self._keep(head)
            return head.value
        first = min(members, key=_rank)
        number = self._rounds.get(head.key, 0) or int(first is head)
        if number >= (ROUNDS if len(members) <= WIDE else 1):
            self._settle(members)
            return head.value
        if number:  # a round from the least key is over: the next one uses its answers
            self._earlier.update((member.key, member) for member in members)
        else:
            self._leave_all(members)
        self._rounds[first.key] = number + 1
        again = _Open(first.key, first.answer, first.cut, first.bulky)
        self._find(again)
        return self._answered(head, again)

    def _answered(self, head: _Open, again: _Open) -> Any:
        """What the rounds from the least key have found for the question that was asked first."""
        if head.key == again.key:
            return again.value
        kept = self._bulky if head.bulky else self._answers
        return kept[head.key] if head.key in kept else self.ask(head.key, head.answer, head.cut, bulky=head.bulky)

    def _settle(self, members: list[_Open]) -> None:
        """Keep the small answers of a circle. Where the last round has changed one of them, interpretations are made
        anew when asked for, from these answers; else they would only be the same again."""
        small = [member for member in members if not member.bulky]
        settled = all(m.key in self._earlier and self.alike(self._earlier[m.key].value, m.value) for m in small)
        for member in members if settled else small:
            self._keep(member)
        if not settled:
            self._leave_all(members)
        for member in members:
            self._forget(member.key)

    def _leave_all(self, members: list[_Open]) -> None:
        for member in members:
            if member.bulky and member.done:
                self._leave(member.value)

    def _forget(self, key: Key) -> None:
        self._rounds.pop(key, None)
        earlier = self._earlier.pop(key, None)
        if earlier is not None:
            self._leave_all([earlier])

    def _keep(self, asked: _Open) -> None:
        self._forget(asked.key)
        if not asked.bulky:
            self._answers[asked.key] = asked.value
            return
        if asked.key in self._bulky:  # answered again, at the end of a long chain
            self._evict(self._bulky.pop(asked.key))
        self._bulky[asked.key] = asked.value
        self._load += self.bulk.weight(asked.value)
        while self._load > self.room and len(self._bulky) > 1:
            self._evict(self._bulky.popitem(last=False)[1])

    def _evict(self, answer: Any) -> None:
        self._load -= self.bulk.weight(answer)
        self._leave(answer)


def _rank(asked: _Open) -> tuple[bool, str]:
    """Interpretations first: most circles are met at one, and its first round is then not in vain."""
    return not asked.bulky, repr(asked.key)
