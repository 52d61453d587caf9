from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, replace, spell
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Mode, Op, fact
from torchmemlint.flow.patterns import input_of, is_module, maker, nodes, number, only_reader, operands, sign
from torchmemlint.flow.values import Fact, Value

from ._copies import shown

MAX_GUARD = 1e-4


class UnfusedLoss(Rule):
    """A loss is computed from probabilities that are written out first.

    ## What it does
    Reports a sigmoid that only `binary_cross_entropy` reads, a softmax or sigmoid that only a logarithm reads; as
    hints, a log-softmax that only `nll_loss` reads or of which one column a row is read.

    ## Why it costs memory
    Probabilities and logarithm are one saved activation each where the fused form saves one: sigmoid and
    `binary_cross_entropy` were measured at twice the peak of the fused loss. `log_softmax` and `nll_loss` cost what
    `cross_entropy` costs: zero bytes, said as a hint only.

    ## Known limits
    Probabilities that something else reads, too, are silent. Models that end in a sigmoid and get their loss elsewhere
    are not seen together.

    ## Fix safety
    Unsafe: the fused forms round differently, and better: no infinite logarithms of zero.

    ## References
    - PyTorch documentation, `torch.nn.functional.binary_cross_entropy_with_logits`
    """

    code = "TML312"
    name = "unfused-loss"
    severity = Severity.WARNING
    words = frozenset("log binary_cross_entropy nll_loss log_softmax gather".split())
    modules = frozenset({"BCELoss", "NLLLoss"})
    file_words = frozenset("softmax sigmoid log_softmax Softmax Sigmoid LogSoftmax".split())
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "torch.log")
    def logarithm(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.log(softmax(x))`."""
        op = event.op
        made = maker(op.receiver) if op.receiver is not None else None
        if made is not None and sign(made) == "+" and only_reader(made) is op and _tiny(made):
            yield from self._shifted(event, op, made)
            return
        if made is None or only_reader(made) is not op or not _probabilities(made):
            return
        name = "log_softmax" if _named(made, "softmax", "Softmax") else "logsigmoid"
        recorded = fact(made.value) is not Fact.NO
        what = (
            f"the probabilities are written out{' and saved' * recorded} only for their logarithm: `{name}` "
            f"{'saves' if recorded else 'makes'} one tensor"
        )
        severity = self.severity if recorded else Severity.HINT
        yield self.finding(event, op.node, what, severity=severity, fix=_fused(event, op, made, name))

    def _shifted(self, event: OpClosed, op: Op, added: Op) -> Iterator[Finding]:
        """`torch.log(softmax(x) + 1e-8)`: the small number only guards against log(0)."""
        below = [o for o in added.inputs if _probabilities(o) and only_reader(o) is added]
        if len(below) == 1:
            name = "log_softmax" if _named(below[0], "softmax", "Softmax") else "logsigmoid"
            what = (
                f"the probabilities are written out twice, only for their logarithm: `{name}` saves one tensor and "
                "needs no small number against log(0)"
            )
            yield self.finding(event, op.node, what, severity=Severity.HINT)

    @on(OpClosed, "torch.log")
    def by_hand(self, event: OpClosed) -> Iterator[Finding]:
        """`y * log(p) + (1 - y) * log(1 - p)` with p = sigmoid(x)."""
        op = event.op
        rest = maker(op.receiver) if op.receiver is not None else None
        if rest is None or sign(rest) != "-" or number(nodes(rest)[0]) != 1:
            return
        made = maker(operands(rest)[-1])
        if made is None or not _named(made, "sigmoid", "Sigmoid"):
            return
        others = [u for u in made.consumers if u is not rest]
        if len(others) != 1 or others[0].name != "torch.log" or rest.consumers != [op]:
            return
        if op.mode is not Mode.OFF and not any(sign(user) == "-" for user in _shared_readers(op, others[0])):
            what = (
                "binary cross entropy is written out of two logarithms, each of which saves a tensor of the logits' "
                "size: `binary_cross_entropy_with_logits` saves the logits"
            )
            yield self.finding(event, op.node, what)

    @on(OpClosed, "torch.binary_cross_entropy", "module")
    def binary(self, event: OpClosed) -> Iterator[Finding]:
        """`binary_cross_entropy(sigmoid(x), y)`."""
        op = event.op
        if op.name == "module" and not is_module(op, "BCELoss"):
            return
        made = _maker(input_of(op))
        if made is None or not _named(made, "sigmoid", "Sigmoid") or only_reader(made) is not op:
            return
        what = (
            "the sigmoid is saved besides the loss's own tensors: `binary_cross_entropy_with_logits` takes the logits"
        )
        yield self.finding(event, op.node, what, fix=_with_logits(event, op, made))

    @on(OpClosed, "torch.nll_loss", "module")
    def likelihood(self, event: OpClosed) -> Iterator[Finding]:
        """`nll_loss(log_softmax(x), y)`."""
        op = event.op
        if op.name == "module" and not is_module(op, "NLLLoss"):
            return
        made = _maker(input_of(op))
        if made is None or not _named(made, "log_softmax", "LogSoftmax") or only_reader(made) is not op:
            return
        what = "`cross_entropy` does both at the same cost: zero bytes, one call less"
        yield self.finding(event, op.node, what, severity=Severity.HINT)

    @on(OpClosed, "torch.gather")
    def gathered(self, event: OpClosed) -> Iterator[Finding]:
        """`log_softmax(x).gather(1, y)`."""
        op = event.op
        made = _maker(op.receiver)
        if made is None or not _named(made, "log_softmax", "LogSoftmax") or only_reader(made) is not op:
            return
        what = (
            f"all of {shown(event, made.receiver_node, 'the rows')} is normalised and kept to read one column a row: "
            '`cross_entropy` with `reduction="none"`, or the gathered column minus `logsumexp`'
        )
        yield self.finding(event, op.node, what, severity=Severity.HINT)


def _maker(value: Value | None) -> Op | None:
    return maker(value) if value is not None else None


def _named(op: Op, function: str, module: str) -> bool:
    return op.name == f"torch.{function}" or is_module(op, module)


def _shared_readers(*logarithms: Op) -> set[Op]:
    """What reads both at once: of a difference of both, the result are the logits themselves, and no loss."""
    return set.intersection(*(set(op.consumers) for op in logarithms))


def _tiny(op: Op) -> bool:
    """Is a small number added?"""
    given = [number(node) for node in nodes(op)]
    return any(value is not None and 0 < value <= MAX_GUARD for value in given)


def _probabilities(op: Op) -> bool:
    return _named(op, "softmax", "Softmax") or _named(op, "sigmoid", "Sigmoid")


def _fused(event: OpClosed, op: Op, made: Op, name: str) -> Plan | None:
    """`torch.log(torch.softmax(x, -1))` with both calls in one expression."""
    spelled = spell(event.function.unit, f"torch.nn.functional.{name}")
    if spelled is None or op.receiver_node is not made.node or made.name == "module" or made.receiver_node is None:
        return None
    pieces: list[object] = [f"{spelled}(", made.receiver_node]
    for argument in made.arguments:
        if argument.name in ("*", "**"):
            return None
        pieces += [f", {argument.name}=" if argument.name else ", ", argument.node]
    plan = replace(op.node, *pieces, ")")  # type: ignore[arg-type]
    return Plan(f"call `{name}`", plan.steps, False, "it rounds differently: no infinite logarithm of zero")


def _with_logits(event: OpClosed, op: Op, made: Op) -> Plan | None:
    if op.name == "module" or op.receiver_node is not made.node or made.receiver_node is None or made.arguments:
        return None
    spelled = spell(event.function.unit, "torch.nn.functional.binary_cross_entropy_with_logits")
    if spelled is None or any(a.name not in (None, "reduction", "weight") for a in op.arguments):
        return None
    pieces: list[object] = [f"{spelled}(", made.receiver_node]
    for argument in op.arguments:
        pieces += [f", {argument.name}=" if argument.name else ", ", argument.node]
    plan = replace(op.node, *pieces, ")")  # type: ignore[arg-type]
    return Plan("take the logits", plan.steps, False, "it rounds differently: no clamped logarithm of zero")
