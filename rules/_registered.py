"""The mend of TML314: a constant of a forward becomes a buffer that the constructor registers."""

from __future__ import annotations

import libcst as cst

from torchmemlint.fixes import Plan, combine, insert_after, replace, within
from torchmemlint.flow.constructors import behind, constant, constructor, free_name
from torchmemlint.flow.consumers import overwritten
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.graph import Op
from torchmemlint.flow.patterns import bare

WIDTH = 80
ONWARD = frozenset({"view", "reshape", "unsqueeze", "bool", "long", "triu", "tril", "t"})
REASON = (
    "the buffer moves and is converted with its module: one that stays on the CPU, or is converted to half precision, "
    "gives another one than the call did"
)


def registered(flow: FunctionFlow, op: Op) -> Plan | None:
    """Register what `op` makes as a buffer of its class and read it in the forward; None where the class shows too
    little, or where the constant is written."""
    whole = _whole(op)
    if not flow.info.parameters or whole.unit is not flow.unit or overwritten(whole.value):
        return None
    place = constructor(flow)
    if place is None:
        return None
    text = constant(flow.unit.text(whole.node), place)
    name = free_name(whole, place.names)
    if text is None or name is None:
        return None
    statement = behind(place, text)
    if statement is None:
        return None
    line = f'{place.own}.register_buffer("{name}", {text}, persistent=False)'
    if len(line) > WIDTH and "\n" not in text:
        line = f'{place.own}.register_buffer(\n    "{name}", {text}, persistent=False\n)'
    made = within(place.init.unit, insert_after(statement, line))
    plan = combine([made, replace(whole.node, f"{place.own}.{name}")], "register it as a buffer")
    return plan.unsafe(REASON)


def _whole(op: Op) -> Op:
    """The constant with what is done to it at once: `torch.ones(n, n).tril().view(1, 1, n, n)`."""
    while len(op.consumers) == 1 and len(op.uses) == 1:
        user = op.uses[0]
        if user.receiver_node is not op.node or bare(user) not in ONWARD or not isinstance(user.node, cst.Call):
            break
        op = user
    return op
