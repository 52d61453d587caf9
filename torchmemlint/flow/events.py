"""What rules subscribe to. An event carries the facts; a rule never walks the tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchmemlint.findings import Place
from torchmemlint.flow.graph import Op, Sink, Store
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.values import Fact

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


@dataclass(slots=True)
class Event:
    """Something that happened in `function`; delivered when the function is closed, so its future is known."""

    function: FunctionFlow


@dataclass(slots=True)
class HolderClosed(Event):
    """All stores into something that outlives an iteration or a call, with where its contents end.

    `kind`: "container" (local), "accumulator" (local running total), "attribute" (on self), "global" (module name,
    class attribute, closure cell, function attribute, default argument).
    """

    holder: Op  # the operation that made the holder (or first read it)
    name: str  # as the user writes it: "losses", "self.history"
    kind: str
    stores: list[Store] = field(default_factory=list)  # only those that may carry a graph
    sinks: frozenset[Sink] = frozenset()  # over everything that is read from the holder, callers included
    by_callee: bool = False  # the store happens in a project function called here
    kept_at: Place | None = None  # where that function stores it

    @property
    def in_module(self) -> bool:
        """Is the function a method of an nn.Module?"""
        program, info = self.function.program, self.function.info
        owner = program.project.owner(info)
        return owner is not None and program.project.is_module_class(owner) is Fact.YES


@dataclass(slots=True)
class OpClosed(Event):
    """An operation with all its uses; subscribe with the names wanted: `@on(OpClosed, "torch.contiguous")`."""

    op: Op


@dataclass(slots=True)
class ForwardClosed(Event):
    """A module was called where grad is not switched off. Callers are asked on demand: ask what is near first."""

    op: Op
    evaluation: bool  # the function evaluates, samples or serves: `.eval()` was called on the module, or no backward
    # anywhere near and all results end on the host

    @property
    def sinks(self) -> frozenset[Sink]:
        """Where its result ends, callers and readers of attributes included."""
        return self.function.program.callers.far_sinks(self.function, self.op)

    @property
    def with_grad(self) -> bool:
        """Can grad be on, all known callers considered?"""
        return runs_with_grad(self.function, self.op)


@dataclass(slots=True)
class GradContextMisused(Event):
    """A grad-mode context that is never entered, is left before the forward, or has no effect."""

    op: Op
    how: str  # "bare statement" | "not called" | "async function" | "other thread" | "read later" | "volatile"


@dataclass(slots=True)
class FunctionClosed(Event):
    """The function's end: every operation in order is in `function.ops`."""

    forwards: list[ForwardClosed] = field(default_factory=list)
