"""What a test says of the names in it: `isinstance(x, Tensor)`, `torch.is_tensor(x)`."""

from __future__ import annotations

import libcst as cst

from torchmemlint.flow.dispatch import evaluate
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.types import HOST_TYPES, TENSOR_TYPES
from torchmemlint.flow.values import Fact, Kind, replace

TENSOR_TESTS = frozenset({"torch.is_tensor", "torch.is_floating_point"})
TENSOR_METHODS = frozenset({"detach", "requires_grad", "backward", "grad_fn"})  # asked for with hasattr


def narrow(f: Frame, test: cst.BaseExpression, holds: bool) -> None:
    """Bind anew what is known of the tested names where the test `holds`, or where it does not."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        narrow(f, test.expression, not holds)
    elif isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And) is holds:  # all parts of `a and b` hold, none of `a or b`
            narrow(f, test.left, holds)
            narrow(f, test.right, holds)
    elif isinstance(test, cst.Call) and test.args:
        _by_type(f, test, holds)


def _by_type(f: Frame, test: cst.Call, holds: bool) -> None:
    path = dotted(test.args[0].value)
    value = f.read(path) if path is not None else None
    tested = _tested(f, test)
    if path is None or value is None or not tested:
        return
    if "tensor" in tested and not holds and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
        f.state.env[path] = replace(value, kind=Kind.UNKNOWN, graph=Fact.NO, params=frozenset())
    elif tested == {"tensor"} and holds and value.kind is Kind.UNKNOWN:
        f.state.env[path] = replace(value, kind=Kind.TENSOR)
    elif tested == {"host"} and holds and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
        f.state.env[path] = replace(value, kind=Kind.HOST, graph=Fact.NO, params=frozenset())


def _tested(f: Frame, test: cst.Call) -> set[str]:
    """The kinds that a test asks for: "tensor", "host", "other"."""
    name = evaluate(f, test.func).name
    if name in TENSOR_TESTS:
        return {"tensor"}
    if len(test.args) < 2:
        return set()
    second = test.args[1].value
    if name == "hasattr":
        return {"tensor"} if evaluate(f, second).const in TENSOR_METHODS else set()
    if name != "isinstance":
        return set()
    types = [e.value for e in second.elements] if isinstance(second, cst.Tuple) else [second]
    return {_kind(evaluate(f, each).name or "") for each in types}


def _kind(name: str) -> str:
    if name in TENSOR_TYPES:
        return "tensor"
    return "host" if name in HOST_TYPES or name.startswith(("numpy.", "numbers.")) else "other"
