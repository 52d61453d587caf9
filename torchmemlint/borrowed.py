"""Settings of the whole process that one part changes for a while, perhaps in several threads at once."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Borrowed(Generic[T]):
    """A setting with one value for all who borrow it. What it was before comes back when the last of them leaves."""

    def __init__(self, get: Callable[[], T], put: Callable[[T], object], changed: Callable[[T], T]) -> None:
        """`changed`: the value while it is borrowed, from the one before."""
        self._get, self._put, self._changed = get, put, changed
        self._lock = threading.Lock()
        self._users = 0
        self._before = get()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """While the setting has the borrowed value."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = self._get()
                self._put(self._changed(self._before))
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._put(self._before)


_left = False  # has something been checked in this process before?


@contextlib.contextmanager
def frozen() -> Iterator[None]:
    """Collections in here do not look at what was in memory before, such as the index of a project. Only in a process
    that does nothing else, where the collector is off: what an earlier time has left is collected first, as nobody
    else would."""
    global _left
    free = not gc.isenabled() and gc.get_freeze_count() == 0
    if free:
        if _left:
            gc.collect()
        _left = True
        gc.freeze()
    try:
        yield
    finally:
        if free:
            gc.unfreeze()
