"""Backups of tensors on an object: cloned by one method, put back by another, and kept from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.classes import loads
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.values import Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

HANDS_ON = frozenset({"iter", "item", "bind", "literal.list", "literal.tuple", "read", "torch.data", "torch.detach"})
BACK = frozenset({"torch.copy_", "write", "load_state_dict"})


def kept_backup(flow: FunctionFlow, made: Op) -> str | None:
    """The attribute that keeps a list or dict of clones, where all that ever happens to it is that another method
    copies the clones back: nothing empties it then, and the next backup replaces it only at its own peak."""
    if flow.info.name == "__init__" or not _of_clones(made):
        return None
    stores = [op for op in made.uses if op.name == "store" and (op.path or "").startswith("self.")]
    if len(stores) != 1 or list(made.uses) != stores:
        return None
    path = stores[0].path or ""
    attribute = path.removeprefix("self.")
    others = [info for info in flow.program.project.mentions(attribute, flow.info.path) if info is not flow.info]
    found = [_ends(inner, attribute) for info in others if (inner := flow.program.flow(info)) is not None]
    readers = [ends for ends in found if ends]
    copied_back = bool(readers) and all(ends == {"back"} for ends in readers)
    return path if copied_back and "." not in attribute and len(found) == len(others) else None


def _of_clones(made: Op) -> bool:
    """Is it a comprehension of clones of what a listing handed in holds?"""
    clones = [op for s in made.stores for op in closure(s.value.defs, lambda o: o.inputs if o.name in HANDS_ON else ())]
    return any(op.name == "torch.clone" and any(i.name in ("iter", "torch.data") for i in op.inputs) for op in clones)


def _ends(flow: FunctionFlow, attribute: str) -> set[str]:
    """What a function does with the attribute: "back" (its members are copied into others), "other"; empty where it
    only makes it, as a constructor does."""
    ends: set[str] = set()
    for load in loads(flow, attribute):
        for op in closure(load.uses, lambda o: o.uses if o.name in HANDS_ON else ()):
            if op.name in HANDS_ON:
                continue
            stored = op.name == "store" and load.stores and flow.info.name == "__init__"
            if not stored:
                ends.add("back" if op.name in BACK and not _into(op, load) else "other")
        if load.stores and flow.info.name != "__init__":
            ends.add("other")
    emptied = any(op.name in ("clear", "del") and (op.path or "").endswith("." + attribute) for op in flow.ops)
    return ends | {"other"} if emptied else ends


def _into(op: Op, load: Op) -> bool:
    """Is a member of the backup itself written?"""
    target = op.receiver.defs if op.receiver is not None and op.receiver.kind is not Kind.MODULE else ()
    return load in closure(target, lambda o: o.inputs if o.name in HANDS_ON else ())
