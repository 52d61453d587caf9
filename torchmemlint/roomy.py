"""Room on Python's stack for deep calls.

CPython (3.11 and later) keeps its frames in pieces of 16 KiB, each of which is taken from the system when a call does
not fit any more, and given back when that call returns. Work that goes up and down across such a border does so a
hundred times for each file. A frame that asks for more than a piece gets one of at least twice its size, in which all
calls below it have room. (Pages that nothing is written to take no memory.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SLOTS = (1 << 17) + 1  # of eight bytes: a little more than half a piece of 2 MiB


def roomy(call: Callable[[], T]) -> T:
    """The result of `call`, which is made with a mebibyte of stack behind it."""
    return call()


roomy.__code__ = roomy.__code__.replace(co_stacksize=SLOTS)
