from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, replace, spell
from torchmemlint.flow.consumers import (
    ROWS,
    is_fresh,
    is_view,
    overwritten,
    reading,
    sole_contents,
    undisturbed,
    written_elsewhere,
)
from torchmemlint.flow.devices import CHOSEN, CUDA, moved_to
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, Sink, closure, written
from torchmemlint.flow.patterns import bare, in_place, maker, only_reader
from torchmemlint.flow.scalars import named_loss
from torchmemlint.flow.tensors import dtype_of
from torchmemlint.flow.values import Fact, Kind, Layout, Value

from ._copies import read_in_passing, shown, without_call

DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
    "short": "int16",
    "byte": "uint8",
}
WEIGHTS = frozenset({"module", "parameters", "state_dict"})
PARTS = ROWS | {"bind", "literal.list", "literal.tuple"}
MOVES = {"cpu": '"cpu"', "cuda": '"cuda"'}


class NeedlessClone(Rule):
    """A clone of a tensor although neither the clone nor the original is written while both live.

    ## What it does
    Reports `clone()` and `copy.deepcopy` of a tensor where the copy is only read by operators that make new tensors;
    where it is converted or moved at once, which makes the copy that is kept; where a fresh result that nothing else
    uses is cloned; where `copy_` copies it again; and where a backup that nobody reads again is cloned to be restored.

    ## Why it costs memory
    Each clone is one more storage of the tensor's size, and in training one that autograd may save as well. With
    neither side written, both hold the same values.

    ## Known limits
    Where code out of sight runs between the clone and its last use, it may write one of the two: silent. Clones
    that are stored or returned may be kept against later changes: silent. What is named as a loss is one number
    mostly: a hint.

    ## Fix safety
    Safe where it removes a clone that only elementwise operators read, or makes the conversion itself the copy
    (`copy=True`): values, dtype, aliasing and gradients stay. Unsafe before reductions, which round by the order of
    strides, where a backup is given back instead of a copy of it, and before `copy_`, which might read memory that it
    writes.

    ## References
    - PyTorch documentation, `torch.Tensor.clone`, `torch.Tensor.to`
    """

    code = "TML303"
    name = "needless-clone"
    severity = Severity.WARNING
    words = frozenset({"clone", "deepcopy"})

    @on(OpClosed, "torch.clone", "copy")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a copy."""
        op = event.op
        source = _source(op)
        if source is None or source.scalar is Fact.YES or _gradient(source) or _one_number(op):
            return
        for case in (self._converted, self._copied_again, self._restored, self._fresh, self._read):
            found = case(event, source)
            if found is not None:
                yield found
                return

    def _converted(self, event: OpClosed, source: Value) -> Finding | None:
        """`x.clone().to("cpu")`: the conversion copies anyway."""
        op, user = event.op, only_reader(event.op)
        if user is None or user.receiver_node is not op.node or op.name != "torch.clone":
            return None
        name = bare(user)
        if not (name == "to" and user.arguments or name in DTYPES or name in MOVES) or user.name == "?call":
            return None
        if any(a.name == "copy" for a in user.arguments) or _live_weight(source):
            return None
        if source.dtype is not None and source.dtype == (DTYPES.get(name) or dtype_of(user.arguments)):
            return None  # it has that type already: the conversion gives the clone itself
        what = f"one more copy of {shown(event, op.receiver_node)}: `.{name}()` makes the one that is used"
        plan = _conversion(event, op, user)
        if plan is not None and (len(user.arguments) > 1 or any(a.name == "non_blocking" for a in user.arguments)):
            plan = plan.unsafe("a copy that does not block may read its source after the next statements")
        cast = name in DTYPES or name == "to" and dtype_of(user.arguments) is not None
        copied = moved_to(user) == "cpu" or not _own_memory(source, user)
        sure = (cast or _computed(source)) and copied or _passing(event, op, user)
        return self.finding(event, op.node, what, severity=self.severity if sure else Severity.HINT, fix=plan)

    def _copied_again(self, event: OpClosed, source: Value) -> Finding | None:
        """`p.copy_(q.clone())`."""
        op, user = event.op, only_reader(event.op)
        if user is None or bare(user) not in ("copy_", "setitem") or user.loops != op.loops:
            return None
        given = user.argument(0)
        if given is None or given.node is not op.node or _shares(source, user.receiver):
            return None
        what = f"one more copy of {shown(event, op.receiver_node)}: its values are copied once more into place"
        plan = _unwrapped(op, "copy once")
        reason = "the two may overlap in memory"
        return self.finding(event, op.node, what, fix=plan.unsafe(reason) if plan is not None else None)

    def _restored(self, event: OpClosed, source: Value) -> Finding | None:
        """`p.data = backup[p].clone()`: the backup itself can be put back."""
        op, user = event.op, only_reader(event.op)
        read = maker(source)
        if user is None or user.name != "write" or read is None or not sole_contents(read, _is_copy):
            return None
        what = f"the clone is put in place and its source {shown(event, op.receiver_node)} stays as one more copy"
        plan = _unwrapped(op, "put the backup itself in place")
        reason = "the backup then shares the memory of what it is restored to"
        return self.finding(event, op.node, what, fix=plan.unsafe(reason) if plan is not None else None)

    def _fresh(self, event: OpClosed, source: Value) -> Finding | None:
        """`(a + b).clone()`: nothing else holds the result."""
        op, made = event.op, maker(source)
        if made is None or made.consumers != [op] or any(u.name == "bind" for u in made.uses) or made.loops != op.loops:
            return None
        if not is_fresh(made) or made.name == "host" or made.receiver is None and not made.arguments:
            return None
        if written(op, source) and source.graph is not Fact.NO or _leaf_wanted(op):
            return None
        what = "one more copy of a result that nothing else uses"
        return self.finding(event, op.node, what, fix=_unwrapped(op, "remove the clone"))

    def _read(self, event: OpClosed, source: Value) -> Finding | None:
        """The clone is only read."""
        op = event.op
        if _leaf_wanted(op) or _viewed(op, source) or not read_in_passing(event, op, source):
            return None
        if any(user.value.fact is not Fact.NO for user in op.consumers) and (
            overwritten(source) or written_elsewhere(event.function, source)
        ):
            return None  # the graph saves what it reads until the backward
        what = f"one more copy of {shown(event, op.receiver_node)}: the clone is only read, and nothing writes either"
        plan = _unwrapped(op, "remove the clone")
        if plan is not None and not all(
            knowledge.elementwise(bare(u) or u.name) for u in reading(event.function, op).ops
        ):
            plan = plan.unsafe("sums over other strides may round differently")
        severity = Severity.HINT if named_loss(op.receiver_node) else self.severity
        return self.finding(event, op.node, what, severity=severity, fix=plan)


def _source(op: Op) -> Value | None:
    """What is copied; None where it is no tensor."""
    if op.name == "copy":
        given = op.arguments[0].value if op.callee == "copy.deepcopy" and op.arguments else None
        return given if given is not None and given.kind is Kind.TENSOR and not given.weak else None
    return op.receiver if not op.arguments and op.receiver is not None and op.receiver.kind is Kind.TENSOR else None


def _one_number(op: Op) -> bool:
    """Is it read by `item()`, as it is or detached?"""
    seen = closure([op], lambda o: o.uses if o is op or o.name in ("bind", "torch.detach", "torch.data") else (), 20)
    return any(o.name == "torch.item" for o in seen)


def _live_weight(source: Value) -> bool:
    """Is it a parameter that training goes on to write? Where it is on the wanted device already, `.to()` gives it."""
    through = ("iter", "item", "torch.detach", "torch.data")
    return any(op.name == "parameters" for op in closure(source.defs, lambda o: o.inputs if o.name in through else ()))


def _computed(source: Value) -> bool:
    """Is it weights, or a result of a forward, and thus mostly on an accelerator?"""
    if source.device == CUDA:
        return True
    made = closure(source.defs, lambda o: o.inputs if o.name not in WEIGHTS else ())
    return any(o.name in WEIGHTS or moved_to(o) in (CUDA, CHOSEN) for o in made)


def _own_memory(source: Value, converted: Op) -> bool:
    """Would it matter if the conversion gave the source itself, which has that type or device already? Where what it
    gives is written, or a part of a tensor is kept by an object, which then keeps the whole of it."""
    made = maker(source)
    part = made is not None and (is_view(made) or made.name == "item" and isinstance(made.node, cst.Subscript))
    if part and any(Sink.ATTRIBUTE in user.sunk for user in converted.uses):
        return True
    parts = set(closure([converted], lambda o: [u for u in o.uses if u.name in PARTS or is_view(u)]))
    return any(in_place(u) and u.receiver is not None and parts & {*u.receiver.defs} for o in parts for u in o.uses)


def _passing(event: OpClosed, op: Op, moved: Op) -> bool:
    """Is what the move gives copied or turned into numbers before anything could write the source?"""
    if not moved.consumers or not undisturbed(event.function, op, moved.consumers):
        return False
    return all(
        bare(reader) == "tolist" or is_fresh(reader) or bare(reader) == "numpy" and all(map(_copies, reader.consumers))
        for reader in moved.consumers
    )


def _copies(op: Op) -> bool:
    """Is it a method of an array, or an assignment into a slot?"""
    return op.name == "host" or op.name == "store" and isinstance(op.node, cst.Subscript)


def _gradient(source: Value) -> bool:
    """Is it a gradient? Every backward writes it."""
    return any(bare(op) == "grad" or op.name == "load" and (op.path or "").endswith(".grad") for op in source.defs)


def _is_copy(value: Value) -> bool:
    """Is the value a copy of its own, shared with nobody?"""
    made = maker(value)
    return (
        made is not None
        and made.name in ("torch.clone", "copy")
        and all(user.name in ("store", "iter", "item", "read") for user in made.consumers)
    )


def _shares(source: Value, target: Value | None) -> bool:
    """May source and target overlap?"""
    if target is None:
        return True
    roots = {*source.defs, *source.shares}
    return bool(roots & {*target.defs, *target.shares}) or any(roots & set(d.value.shares) for d in target.defs)


def _leaf_wanted(op: Op) -> bool:
    return any(bare(user) in ("requires_grad_", "retain_grad", "register_hook") for user in op.consumers)


def _viewed(op: Op, source: Value) -> bool:
    """Is the clone viewed in another shape, which its source may be too scattered for?"""
    return source.layout is not Layout.CONTIGUOUS and any(bare(user) == "view" for user in op.consumers)


def _unwrapped(op: Op, title: str) -> Plan | None:
    plan = without_call(op) if op.name == "torch.clone" else None
    return Plan(title, plan.steps) if plan is not None else None


def _conversion(event: OpClosed, op: Op, user: Op) -> Plan | None:
    """Make the conversion the copy: `x.clone().float()` becomes `x.to(torch.float32, copy=True)`."""
    if op.receiver_node is None or any(a.name in ("*", "**") for a in user.arguments):
        return None
    name, source = bare(user), op.receiver_node
    if name == "to":
        pieces: list[str | cst.CSTNode] = []
        for argument in user.arguments:
            pieces += [f"{argument.name}=" if argument.name else "", argument.node, ", "]
        return Plan("let the conversion copy", replace(user.node, source, ".to(", *pieces, "copy=True)").steps)
    if user.arguments:
        return None
    if name in MOVES:
        return Plan("let the move copy", replace(user.node, source, f".to({MOVES[name]}, copy=True)").steps)
    spelled = spell(event.function.unit, f"torch.{DTYPES[name]}")
    if spelled is None:
        return None
    return Plan("let the conversion copy", replace(user.node, source, f".to({spelled}, copy=True)").steps)
