"""Pseudo-words: what stands among a function's words for something that no single word tells."""

from __future__ import annotations

ATTRIBUTE = "@attribute"
"""A live value is put on an object, into a global or into a class."""
COLLECTS = "@collects"
"""A live value is put into a container, or handed to a call whose result is not used."""
TOTAL = "@total"
"""In a loop a name is computed from itself and a live value, or anywhere an attribute; `sum(…)`."""
RUNS_MODULES = "@runs"
"""Something is called that is no function, class or method known by its name: it may be a module."""
LOOPS = "@loops"
"""A loop or comprehension."""
SLICES = "@slices"
"""A part of a live value is taken by an index."""
NEW_AXIS = "@newaxis"
"""An axis is put in by the index `None`."""
GRAPHS = "@graphs"
"""Something is called that may run a module, directly or through the project's functions and methods."""
KEEPS = "@keeps"
"""ATTRIBUTE of a value that comes from a parameter."""
KEEPERS = "@keepers"
"""A function of the project that may keep what it is given (`KEEPS`) is handed a live value. Known once files are
linked."""
CALLS = "@calls "
"""With a name behind it: something of that name is called with a live argument."""
EVERY = frozenset({ATTRIBUTE, COLLECTS, TOTAL, RUNS_MODULES, LOOPS, SLICES, NEW_AXIS, GRAPHS, KEEPS, KEEPERS})
