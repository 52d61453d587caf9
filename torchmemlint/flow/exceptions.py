"""What is caught where: the except blocks around an operation, and the work that failed before them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op, Sink, closure
from torchmemlint.flow.lean import children, walk

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

WRAPS = frozenset({"exception", "literal.tuple", "literal.list", "literal.dict", "construct"})
BROAD = frozenset({"RuntimeError", "Exception", "BaseException", "MemoryError"})


@dataclass(frozen=True, eq=False)
class Handler:
    """One except block. `attempt` is the number of its try statement, which operations of the try body carry too."""

    node: cst.ExceptHandler | cst.ExceptStarHandler
    caught: str  # as written: "torch.OutOfMemoryError", "(RuntimeError, ValueError)"
    attempt: int
    text: str = ""  # the block's own source

    @property
    def out_of_memory(self) -> bool:
        """Does it surely handle memory running out: by the exception's name, by a look at its message, or as it empties
        the allocator's cache?"""
        return "OutOfMemoryError" in self.caught or (self.broad and _looks(self.text))

    @property
    def broad(self) -> bool:
        """Does it catch, among others, the error that PyTorch raises when memory runs out?"""
        return any(name in self.caught for name in BROAD)


def _looks(text: str) -> bool:
    return "out of memory" in text.lower() or "empty_cache(" in text


def handles_memory(flow: FunctionFlow, handler: Handler) -> bool:
    """Does it surely handle memory running out, itself or by functions of the project that it calls?"""
    if handler.out_of_memory or not handler.broad:
        return handler.out_of_memory
    called = (op for op in flow.named("call") if handler in op.handlers)
    helpers = (flow.program.project.at(op.target, op.callee) for op in called)
    return any(inner is not None and _tells(inner) for inner in map(flow.program.flow, filter(None, helpers)))


def _tells(flow: FunctionFlow) -> bool:
    """Does the function ask whether memory has run out, or give unused memory back?"""
    named = "OutOfMemoryError" in flow.info.words or bool(flow.named("diagnostic.release"))
    return named or any(map(_looks, _texts(flow.node)))


def _texts(node: cst.CSTNode) -> Iterator[str]:
    """The texts that a function computes with; not its docstring, what it prints or raises."""
    if isinstance(node, (cst.SimpleString, cst.FormattedStringText)):
        yield node.value
    for child in children(node) if not isinstance(node, (cst.Expr, cst.Raise)) else ():
        yield from _texts(child)


def recurs(flow: FunctionFlow, op: Op, handler: Handler) -> bool:
    """Does a call in a handler run the function that the handler stands in once more?"""
    if not op.arguments:
        return False
    if op.callee == flow.info.id and op.target == flow.info.path:
        return True
    around = (c.node for c in flow.frame.closures.values() if isinstance(c.node, cst.FunctionDef))
    return any(node.name.value == op.callee and any(n is handler.node for n in walk(node)) for node in around)


def handling(flow: FunctionFlow, op: Op) -> Handler | None:
    """The except block whose exception `op` is: what the block binds, or what `sys.exc_info()` returns in it."""
    if isinstance(op.node, cst.Call):
        return op.handlers[-1] if op.handlers else None
    return next((h for o in flow.ops for h in o.handlers if h.node is op.node), None)


def kept_exceptions(op: Op, handler: Handler) -> Iterator[tuple[str, Op]]:
    """(name, operation) of what holds the exception `op` beyond its handler: an attribute, a global, a list that is
    older than the iteration, a method's object, or a name that is still bound while the next iteration tries again."""
    own = handler.node.name.name if handler.node.name is not None else None
    bound = own.value if isinstance(own, cst.Name) else None
    if any(map(_emptied, op.uses)):
        return
    called = isinstance(op.node, cst.Call)
    wrapped = closure([op], lambda o: [u for u in o.uses if u.name in WRAPS or _traceback(u)])
    for user in {id(u): u for o in wrapped for u in o.uses}.values():
        if user.name == "store":
            older = any(len(holder.loops) < len(user.loops) and holder.name != "comprehension" for holder in user.uses)
            if user.sunk & {Sink.ATTRIBUTE, Sink.GLOBAL} or older:
                yield user.path or "the list", user
        elif user.name == "argument" and user.sunk & {Sink.ATTRIBUTE, Sink.GLOBAL}:
            yield (user.callee or "").rpartition(":")[2], user
        elif user.name == "bind" and user.path != bound and user.loops and op in user.inputs and not called:
            yield user.path or "the name", user


def _traceback(op: Op) -> bool:
    """The exception's traceback: it has the frames."""
    return op.name == "load" and isinstance(op.node, cst.Attribute) and op.node.attr.value == "__traceback__"


def _emptied(op: Op) -> bool:
    """Does something else become the exception's traceback, or are the variables of its frames cleared?"""
    return _traceback(op) and (bool(op.stores) or any(u.callee == "traceback.clear_frames" for u in op.uses))
