from __future__ import annotations

from collections.abc import Iterator

from torchmemlint import knowledge
from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, combine, replace, set_keyword, spell, unwrap_call
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, Sink, closure, sinks
from torchmemlint.flow.lean import same_code
from torchmemlint.flow.optimizers import is_criterion
from torchmemlint.flow.patterns import bare, comparison, infinite, number, only_reader, sides
from torchmemlint.flow.tensors import dtype_of
from torchmemlint.flow.values import Kind, Value
from torchmemlint.flow.weights import REDUCING

from ._copies import method, shown

WIDENING = ("torch.float", "torch.double", "torch.to")
WIDE = frozenset({"float32", "float64", "float", "double"})
FUSED = frozenset({"softmax", "log_softmax"})
RESHAPES = frozenset("view reshape flatten transpose permute contiguous getitem".split())
ANSWERS = {("==", "numel"): "all", (">", 0): "any", ("!=", 0): "any", (">=", 1): "any"}


class NeedlessUpcast(Rule):
    """A whole tensor is converted to a wider type where only a part of it, or a yes or no, is wanted.

    ## What it does
    Reports `.float()` / `.double()` of a tensor of which only a few elements are then read (`gather`), or that is
    converted back after a `masked_fill` with infinity; as a hint the conversion of a layer's whole output that is
    returned and, in a branch only, goes into a loss; the sum of a truth tensor that is only compared with zero or
    its number of elements; and, as a hint, a conversion before `softmax` or `log_softmax`, which take `dtype=`.

    ## Why it costs memory
    The conversion writes a second tensor of twice the bytes (logits in bfloat16 converted whole: 1.75 times the peak).
    `sum` of truth values converts them to eight bytes each first.

    ## Known limits
    Other conversions that are returned, stored or read as a whole are silent. On a tensor that has the wide type
    already the conversion costs nothing; its type is often not known.

    ## Fix safety
    Safe for comparisons of a sum of truth values, and for softmax with `dtype=`: same values, types and gradients.

    ## References
    - PyTorch documentation, `torch.nn.functional.softmax`, `torch.all`
    """

    code = "TML311"
    name = "needless-upcast"
    severity = Severity.WARNING
    words = frozenset("float double float64 float32 sum".split())
    roles = frozenset({"module", "forward", "function"})
    needs = (frozenset("softmax log_softmax gather take_along_dim masked_fill masked_fill_ sum labels".split()),)

    @on(OpClosed, *WIDENING)
    def widened(self, event: OpClosed) -> Iterator[Finding]:
        """`logits.float().gather(…)`, `softmax(x.float(), -1)`."""
        op = event.op
        if not _widens(op) or op.value.kind not in (Kind.TENSOR, Kind.UNKNOWN) or not op.consumers:
            return
        source = shown(event, op.receiver_node, "the whole tensor")
        if _only_selected(op):
            what = (
                f"{source} is converted as a whole though only selected elements are read: select first, then convert"
            )
            yield self.finding(event, op.node, what, severity=_known_narrow(op))
            return
        user = only_reader(op)
        if user is not None and _fills_with_infinity(user) and _back_again(only_reader(user)):
            what = (
                f"{source} is converted and converted back around `{bare(user)}`, which computes nothing: "
                "two more copies"
            )
            yield self.finding(event, op.node, what)
        elif user is None and _for_a_loss(op):
            what = (
                f"{source} is converted as a whole also where no loss is computed: convert beside the loss, in its "
                "branch"
            )
            yield self.finding(event, op.node, what, severity=Severity.HINT)
        elif user is not None and bare(user) in FUSED and user.receiver_node is op.node and user.name != "?call":
            what = f"one more copy of {source} in the wider type: `{bare(user)}` converts by itself with `dtype=`"
            yield self.finding(event, op.node, what, severity=Severity.HINT, fix=_fused(event, op, user))

    @on(OpClosed, "compare")
    def counted(self, event: OpClosed) -> Iterator[Finding]:
        """`mask.sum() == mask.numel()`."""
        parts = sides(event.op)
        found = _count(event.op)
        if parts is None or found is None:
            return
        total, answer = found
        if total.receiver is None or total.receiver.dtype != "bool" or total.arguments:
            return
        source = shown(event, total.receiver_node, "the mask")
        what = f"the sum converts every truth value of {source} to eight bytes: `{answer}` answers without"
        plan = None
        if total.receiver_node is not None and parts[0] is total.node and only_reader(total) is event.op:
            plan = Plan(f"ask `{answer}`", replace(event.op.node, total.receiver_node, f".{answer}()").steps)
        severity = Severity.HINT if _of_rows(total.receiver) else self.severity
        yield self.finding(event, event.op.node, what, severity=severity, fix=plan)


def _of_rows(mask: Value) -> bool:
    """Is it a comparison of one number a row, as of sums over a dimension? Such a mask is small."""
    compared = [maker for op in mask.defs if op.name == "compare" for maker in op.inputs]
    return any(op.name in REDUCING and op.argument(0, "dim") is not None for op in compared)


def _widens(op: Op) -> bool:
    if op.name == "torch.to":
        return (dtype_of(op.arguments) or op.value.dtype) in WIDE
    return not op.arguments


def _for_a_loss(op: Op) -> bool:
    """Is it the result of a layer, which goes to the caller and, in a branch that may be left out, into a loss?"""
    made = op.receiver.defs if op.receiver is not None else ()
    if not made or any(maker.name != "module" for maker in made) or Sink.RETURNED not in sinks(op):
        return False
    users = closure([op], lambda o: o.uses if o is op or bare(o) in RESHAPES or o.name == "bind" else ())
    losses = [u for u in users if u.name == "module" and is_criterion(u) or knowledge.functional_loss(u.name)]
    return bool(losses) and all(len(loss.branches) > len(op.branches) for loss in losses)


def _known_narrow(op: Op) -> Severity:
    """Is the wide type surely new? Only integers and wide floats speak against it."""
    known = op.receiver.dtype if op.receiver is not None else None
    return Severity.HINT if known in WIDE else Severity.WARNING


def _only_selected(op: Op) -> bool:
    """Is every reader a selection, directly or after arithmetic with numbers?"""
    current = op
    for _ in range(4):
        users = [u for u in current.consumers if u.name != "host"]
        if users and all(_selects(u, current) for u in users):
            return True
        following = only_reader(current)
        if following is None or not knowledge.elementwise(bare(following) or following.name):
            return False
        if any(o.value.kind is Kind.TENSOR for o in following.inputs if o is not current):
            return False
        current = following
    return False


def _selects(user: Op, op: Op) -> bool:
    """Does the reader take single elements or columns, not a range of them?"""
    if user.receiver is None or op not in user.receiver.defs:
        return False
    return bare(user) in ("gather", "take_along_dim")


def _fills_with_infinity(user: Op) -> bool:
    """Is it a masked_fill with infinity, which every float type has?"""
    value = user.argument(1, "value") if bare(user) in ("masked_fill", "masked_fill_") else None
    return value is not None and infinite(value.node)


def _back_again(user: Op | None) -> bool:
    return user is not None and bare(user) in ("type_as", "to", "half", "bfloat16", "type")


def _fused(event: OpClosed, op: Op, user: Op) -> Plan | None:
    wide = "float64" if op.name == "torch.double" or dtype_of(op.arguments) in ("float64", "double") else "float32"
    spelled = spell(event.function.unit, f"torch.{wide}")
    if spelled is None or any(a.name in ("dtype", "*", "**") for a in user.arguments):
        return None
    if not method(op) or len([a for a in user.arguments if a.name is None]) > 1:
        return None
    if op.name == "torch.to" and (len(op.arguments) != 1 or op.value.device is not None):
        return None
    whole = combine([unwrap_call(op.node), set_keyword(user.node, "dtype", spelled)], "give the type to the operator")
    return Plan("give the type to the operator", whole.steps)


def _count(op: Op) -> tuple[Op, str] | None:
    """The sum that a comparison reads, and the question that it amounts to."""
    parts = sides(op)
    if parts is None:
        return None
    total = next((o for o in op.inputs if bare(o) == "sum" and o.node is parts[0]), None)
    if total is None:
        return None
    literal = number(parts[1])
    if literal is not None:
        if total.name != "torch.sum":
            return None  # an array's sum reads the same
        answer = ANSWERS.get((comparison(op), literal))
    else:
        other = [o for o in op.inputs if o is not total and o.node is not parts[1]]
        answer = ANSWERS.get((comparison(op), "numel")) if _counts_same(op, total) and not other else None
    return (total, answer) if answer is not None else None


def _counts_same(op: Op, total: Op) -> bool:
    """Is the other side the number of elements of the very tensor that is summed?"""
    parts = sides(op)
    if parts is None or total.receiver is None or total.receiver_node is None:
        return False
    sizes = [u for maker_ in total.receiver.defs for u in maker_.uses if bare(u) == "numel" and u.node is parts[1]]
    first = sizes[0].receiver_node if sizes else None
    return first is not None and same_code(first, total.receiver_node)
