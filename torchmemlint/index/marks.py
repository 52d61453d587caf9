"""Pseudo-words: what stands among a function's words for something that no single word tells."""

from __future__ import annotations

ATTRIBUTE = "@attribute"
"""A value of its own is put on an object, into a global, a class, or a container that the function has not made."""
COLLECTS = "@collects"
"""A value of its own is put into a container: in a loop, or where the function has not made it."""
GATHERS = "@gathers"
"""COLLECTS or TOTAL of what a parameter holds."""
TOTAL = "@total"
"""In a loop a name is computed from itself and a value of its own, or anywhere an attribute; `sum(…)`."""
RUNS_MODULES = "@runs"
"""Something is called that is no function, class or method known by its name: it may be a module."""
LOOPS = "@loops"
"""A loop or comprehension."""
SLICES = "@slices"
"""A part of a live value is taken by an index."""
COLUMN = "@column"
"""A part is taken by an index of several dimensions, the first of which is left whole: `x[:, 0]`."""
REPEATS = "@repeats"
"""A list or tuple that is written down is an operand: `[x] * n`."""
NEW_AXIS = "@newaxis"
"""An axis is put in by the index `None`."""
GRAPHS = "@graphs"
"""Something is called that may run a module, directly or through the project's functions and methods."""
KEEPS = "@keeps"
"""ATTRIBUTE of what a parameter holds. Where the project shows that something live may be given, it counts as
ATTRIBUTE too, and with GATHERS as COLLECTS and TOTAL: known once files are linked."""
KEEPERS = "@keepers"
"""A function of the project that may keep what it is given (`KEEPS`) is handed a value of the caller's own. Known once
files are linked."""
AIDS = "@aids"
"""A method of a module that its own forward uses, or that some forward calls: a part of it. Known once files are
linked."""
BORROWS = "@borrows"
"""It runs no backward and calls, by its name, what a function that runs one calls too. Known once files are linked."""
CATCHES = "@catches"
"""An `except` block gives the exception a name."""
CALLS = "@calls "
"""With a name behind it: something of that name is called with a value of the function's own. A dot before the name: it
may be a method of the same object."""
HANDS = "@hands "
"""The same with what a parameter holds."""
REFERS = "@refers "
"""With a name behind it: a function of the file or an imported one of that name is used other than by calling it."""
EVERY = frozenset(
    {
        ATTRIBUTE,
        COLLECTS,
        GATHERS,
        TOTAL,
        RUNS_MODULES,
        LOOPS,
        SLICES,
        COLUMN,
        REPEATS,
        NEW_AXIS,
        GRAPHS,
        KEEPS,
        CATCHES,
    }
)
