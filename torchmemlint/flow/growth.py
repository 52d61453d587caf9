"""Tensors that grow by concatenation: in a loop, through a parameter that comes back, or in an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.enclosing import around
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.patterns import bare, number
from torchmemlint.flow.values import INTEGRAL, Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

PASSES = frozenset({"literal.list", "literal.tuple", "bind"})
KEEPING = frozenset(
    {"detach", "cpu", "cuda", "to", "data", "squeeze", "unsqueeze", "contiguous", "float", "view", "reshape"}
)
FEW = 16  # rounds of a loop that are not worth a warning

FILLING = frozenset({"fill_", "full", "full_like", "new_full"})  # a token id is put in


@dataclass(frozen=True)
class Growth:
    """A tensor that one concatenation makes longer each time.

    `how`: "loop" | "call" | "attribute"; `used`: something else in the loop reads it in each iteration; `thrown`:
    nothing reads it after the loop, so that the last concatenation is for nothing; `window`: it is cut to a window;
    `small`: it holds indices; `bounded`: the loop runs a known, small number of times."""

    how: str
    used: bool = False
    thrown: bool = False
    window: bool = False
    small: bool = False
    bounded: bool = False
    computed: bool = False  # the parts come out of a forward pass and stay on its device


def growth(flow: FunctionFlow, op: Op) -> Growth | None:
    """How the concatenation `op` grows its own result; None where it doesn't."""
    small = _holds_indices(op)
    if op.loops and comes_round(op):
        inner = [u for u in _readers(op) if u.loops[: len(op.loops)] == op.loops]
        outer = [u for u in _readers(op) if u not in inner]
        return Growth(
            "loop",
            any(not _itself(u, op) for u in inner),
            not outer and bool(flow.info.name),
            any(_cuts(u) and _feeds(u, op) for u in inner),
            small,
            _few(flow, op.node),
            _computed(op),
        )
    attribute = _attribute(op)
    if attribute is not None:
        return Growth("attribute", window=any(_cuts(u) for u in _readers(op)), small=small)
    if joins_parameters(op) and _comes_back(flow, op):
        return Growth("loop", small=small)
    if _parameter(op) and _returned(flow, op):
        return Growth("call", True, small=small, window=any(_cuts(u) for u in _readers(op)))
    return None


def _passes(op: Op) -> bool:
    return op.name in PASSES or op.name == "argument" or bare(op) in KEEPING or op.name == "torch.getitem"


def comes_round(op: Op) -> bool:
    """Is the result of an earlier iteration among the operands?"""
    return op.carried or op in set(closure(op.inputs, lambda o: o.inputs if _passes(o) else ()))


def _readers(op: Op) -> list[Op]:
    """What reads the result, through names and conversions."""
    found, seen, todo = [], {op}, [op]
    while todo:
        for user in todo.pop().consumers:
            if user in seen:
                continue
            seen.add(user)
            found.append(user)
            if user.name in PASSES or bare(user) in KEEPING or user.name == "torch.getitem":
                todo.append(user)
    return found


def _itself(user: Op, op: Op) -> bool:
    """Is the reader only a step on the way back into the concatenation, or a question about its size?"""
    return (
        user is op
        or _passes(user)
        and user.name != "argument"  # a function of the project reads it
        or user.name in ("compare", "host", "load")
        or bare(user) in ("size", "numel", "dim")
    )


def _cuts(op: Op) -> bool:
    return op.name == "torch.getitem" or bare(op) in ("narrow", "index_select")


def _feeds(user: Op, op: Op) -> bool:
    """Does the reader's result go back into the concatenation?"""
    return op in set(closure([user], lambda o: o.uses if _passes(o) else ()))


def _computed(op: Op) -> bool:
    """Is a part the result of a module, not moved to the host since?"""
    new = [p for p in _parts(op) if p is not op]
    made = closure(new, lambda o: o.inputs if o.value.device != "cpu" and o.name not in ("iter", "batch") else ())
    return any(o.name == "module" and o.value.device != "cpu" for o in made) and all(
        p.value.device != "cpu" for p in new
    )


def _holds_indices(op: Op) -> bool:
    """Are the parts token ids or other indices?"""
    parts = op.receiver.elements if op.receiver is not None and isinstance(op.receiver.elements, tuple) else ()
    return any(p.dtype in INTEGRAL or any(_counts(d) for d in p.defs) for p in parts)


def _counts(op: Op) -> bool:
    fact = knowledge.operator(bare(op)) if bare(op) else None
    filled = bare(op) in FILLING and any(a.value.dtype in INTEGRAL for a in op.arguments)
    return fact is not None and fact.dtype in INTEGRAL or op.name.endswith(".indices") or filled


def _parts(op: Op) -> list[Op]:
    return [d for o in op.inputs if o.name in ("literal.list", "literal.tuple") for d in o.inputs]


def _attribute(op: Op) -> str | None:
    """The attribute that is both an operand and where the result is stored."""
    stored = {u.path for u in op.uses if u.name == "store" and u.path and "." in u.path}
    read = {p.path for p in closure(_parts(op), lambda o: o.inputs if _passes(o) else ()) if p.name == "load"}
    return next((path for path in stored & read if path), None)


def _parameter(op: Op) -> bool:
    """Is an operand taken out of a parameter that is not used otherwise: a cache handed in by the caller?"""
    for part in _parts(op):
        if part.name in ("item", "torch.getitem") and part.inputs and part.inputs[0].name == "param":
            return True
        if part.name == "param" and _given_back(op, part):
            return True
    return False


def joins_parameters(op: Op) -> bool:
    """Is it a helper that joins what it is given: `torch.cat((collected, new))` of two parameters, returned?"""
    parts = _parts(op)
    return len(parts) > 1 and all(p.name == "param" for p in parts) and any(u.name == "return" for u in op.uses)


def _comes_back(flow: FunctionFlow, op: Op) -> bool:
    """Does a known call, in a loop, hand the helper what it returned in the iteration before?"""
    sites = flow.program.callers.sites(flow.info).calls
    return any(site.op.loops and comes_round(site.op) for site in sites)


def _given_back(op: Op, part: Op) -> bool:
    """Is the parameter only joined and compared, while the joined tensor replaces it?"""
    return all(
        u is op or u.name in ("literal.list", "literal.tuple", "compare", "bind", "torch.cat") for u in part.uses
    )


def _returned(flow: FunctionFlow, op: Op) -> bool:
    """Does the result go back to the caller as one of several, as a cache does, or into a container of its own?"""
    return any(
        u.name in ("literal.tuple", "literal.list", "literal.dict")
        and any(r.name == "return" for r in u.uses)
        or u.name == "store"
        and not any(h.name == "comprehension" for h in u.uses)
        for u in op.uses
    ) or any(
        r.name == "return" and r.value.kind is Kind.CONTAINER
        for r in closure(op.uses, lambda o: o.uses if o.name == "literal.tuple" else ())
    )


def _few(flow: FunctionFlow, node: cst.CSTNode) -> bool:
    """Does the innermost `for` around `node` run over a literal, short `range`?"""
    loops = [outer for outer in around(flow, node) if isinstance(outer, cst.For)]
    source = loops[-1].iter if loops else None
    if not isinstance(source, cst.Call) or not isinstance(source.func, cst.Name) or source.func.value != "range":
        return False
    bounds = [number(a.value) for a in source.args]
    return bool(bounds) and all(b is not None and b <= FEW for b in bounds)
