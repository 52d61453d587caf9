"""What a test says of the names in it (`isinstance(x, Tensor)`, `torch.is_tensor(x)`), and what is known of a test."""

from __future__ import annotations

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.conditions import holds
from torchmemlint.flow.dispatch import evaluate
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.types import HOST_TYPES, TENSOR_TYPES
from torchmemlint.flow.values import Fact, Kind, Value, replace

TENSOR_TESTS = frozenset({"torch.is_tensor", "torch.is_floating_point"})
TENSOR_METHODS = frozenset({"detach", "requires_grad", "backward", "grad_fn"})  # asked for with hasattr


def decided(f: Frame, test: cst.BaseExpression) -> bool | None:
    """How the test comes out for the settings that the function is called with; None where they don't tell."""
    given = {name: setting for name, setting in f.settings.items() if _is_parameter(f, name)}
    return holds(test, given) if given else None


def _is_parameter(f: Frame, name: str) -> bool:
    value = f.read(name)
    return value is not None and [op.name for op in value.defs] == ["param"]


def narrow(f: Frame, test: cst.BaseExpression, holds: bool) -> None:
    """Bind anew what is known of the tested names where the test `holds`, or where it does not."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        narrow(f, test.expression, not holds)
    elif type(test) is cst.BooleanOperation:
        if (type(test.operator) is cst.And) is holds:  # all parts of `a and b` hold, none of `a or b`
            narrow(f, test.left, holds)
            narrow(f, test.right, holds)
    elif type(test) is cst.Call and test.args:
        _by_type(f, test, holds)


def _by_type(f: Frame, test: cst.Call, holds: bool) -> None:
    path = dotted(test.args[0].value)
    value = f.read(path) if path is not None else None
    tested = _tested(f, test)
    if path is None or value is None or not tested:
        return
    if "tensor" in tested and not holds and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
        f.state.env[path] = _narrowed(f, test, value, Kind.UNKNOWN)
    elif tested == {"tensor"} and holds and value.kind is Kind.UNKNOWN:
        f.state.env[path] = replace(value, kind=Kind.TENSOR)
    elif tested == {"host"} and holds and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
        f.state.env[path] = _narrowed(f, test, value, Kind.HOST)


def _narrowed(f: Frame, test: cst.Call, value: Value, kind: Kind) -> Value:
    """The value where it is no tensor: what keeps it keeps no graph. (It may hold tensors: it is still known where it
    comes from.)"""
    known = replace(value, kind=kind, graph=Fact.NO, params=frozenset())
    return f.op("narrowed", test, known, inputs=[value]).value if value.defs else known


def _tested(f: Frame, test: cst.Call) -> set[str]:
    """The kinds that a test asks for: "tensor", "host", "other"."""
    name = evaluate(f, test.func).name
    if name in TENSOR_TESTS:
        return {"tensor"}
    if len(test.args) < 2:
        return set()
    second = test.args[1].value
    if name == "hasattr":
        return _having(evaluate(f, second).const)
    if name != "isinstance":
        return set()
    types = [e.value for e in second.elements] if type(second) is cst.Tuple else [second]
    return {_kind(evaluate(f, each).name or "") for each in types}


def _having(attribute: object) -> set[str]:
    """The kinds of what has an attribute: each tensor has all of its methods, arrays have some of them too."""
    if attribute in TENSOR_METHODS:
        return {"tensor"}
    return {"tensor", "host"} if isinstance(attribute, str) and knowledge.tensor_method(attribute) else set()


def _kind(name: str) -> str:
    if name in TENSOR_TYPES:
        return "tensor"
    return "host" if name in HOST_TYPES or name.startswith(("numpy.", "numbers.")) else "other"
