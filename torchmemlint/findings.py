"""What a rule says: `Finding` (holds syntax nodes, lives in one process) becomes `Diagnostic` (plain data)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

    from torchmemlint.fixes import Plan
    from torchmemlint.flow.units import Unit


class Severity(str, Enum):
    """`error`: memory grows until it runs out; `warning`: a large, sure waste; `hint`: small or situational."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True)
class Place:
    """A node together with the unit (function slice) it was parsed in."""

    unit: Unit
    node: cst.CSTNode


@dataclass(frozen=True)
class Finding:
    """A rule's finding while the trees are alive."""

    code: str
    name: str
    severity: Severity
    message: str
    place: Place
    related: tuple[tuple[str, Place], ...] = ()
    fix: Plan | None = None


@dataclass(frozen=True)
class Location:
    """1-based row and column; columns count characters. In a notebook `cell` is the cell, counted from 1, and the row
    one of the cell."""

    row: int
    column: int
    cell: int = 0  # 0: not in a notebook


@dataclass(frozen=True)
class Edit:
    """Replace the half-open range [start, end) by `content`; offsets are bytes of the text encoded as UTF-8."""

    start: int
    end: int
    content: str
    location: Location
    end_location: Location


@dataclass(frozen=True)
class Fix:
    """Edits that belong together: all are applied, or none."""

    message: str
    edits: tuple[Edit, ...]
    safe: bool
    reason: str = ""  # why it is unsafe


@dataclass(frozen=True)
class Related:
    """A second labelled span: where the graph came from, where the container was made."""

    message: str
    filename: str
    location: Location
    end_location: Location


@dataclass(frozen=True, order=True)
class Diagnostic:
    """A finding as plain data: picklable, sortable by place, the input of every reporter.

    `row`, `column` and `noqa_row` are those of the text that was checked, where a notebook's cells are one module;
    `location` is the place to show."""

    filename: str
    location: Location = field(compare=False)
    row: int
    column: int
    code: str
    message: str
    end_location: Location = field(compare=False)
    name: str = field(default="", compare=False)
    severity: Severity = field(default=Severity.WARNING, compare=False)
    related: tuple[Related, ...] = field(default=(), compare=False)
    fix: Fix | None = field(default=None, compare=False)
    noqa_row: int = field(default=0, compare=False)
    end_offset: int = field(default=0, compare=False)
