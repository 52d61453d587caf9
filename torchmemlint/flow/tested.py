"""What a test says of the names in it (`isinstance(x, Tensor)`, `torch.is_tensor(x)`), and what is known of a test."""

from __future__ import annotations

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.conditions import holds
from torchmemlint.flow.dispatch import evaluate
from torchmemlint.flow.fields import fields_of
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.lean import walk
from torchmemlint.flow.types import HOST_TYPES, TENSOR_TYPES
from torchmemlint.flow.values import UNKNOWN, Fact, Kind, Value, replace

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
        _by_type(f, test, dotted(test.args[0].value), _tested(f, test), holds)
    elif type(test) is cst.Comparison and len(test.comparisons) == 1:
        _by_class(f, test, test.comparisons[0], holds)


def _by_class(f: Frame, test: cst.Comparison, right: cst.ComparisonTarget, holds: bool) -> None:
    """`type(x) is torch.Tensor`, `type(x) in (int, float)`"""
    left, operator = test.left, right.operator
    if type(left) is not cst.Call or len(left.args) != 1 or type(left.func) is not cst.Name:
        return
    if left.func.value != "type" or evaluate(f, left.func).name != "type":
        return
    if isinstance(operator, (cst.Is, cst.Equal, cst.In, cst.IsNot, cst.NotEqual, cst.NotIn)):
        turned = isinstance(operator, (cst.IsNot, cst.NotEqual, cst.NotIn))
        _by_type(f, test, dotted(left.args[0].value), _kinds(f, right.comparator), holds is not turned)


def no_tensors(f: Frame, node: cst.Try | cst.TryStar, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> None:
    """Where an attribute was missed, what `try` called methods of tensors on is none: `x.item()`."""
    caught = f.unit.code(handler.type) if handler.type is not None else ""
    for call in walk(node.body) if "AttributeError" in caught else ():
        if type(call) is cst.Call and type(call.func) is cst.Attribute:
            of_tensors = knowledge.tensor_method(call.func.attr.value) is not None
            _by_type(f, call, dotted(call.func.value), {"tensor"} if of_tensors else set(), False)


def matched(f: Frame, subject: cst.BaseExpression, case: cst.MatchCase) -> None:
    """Bind what a case captures, and what it tells of the subject."""
    value, path = evaluate(f, subject), dotted(subject)
    _by_type(f, case, path, _pattern(f, case.pattern), True)
    _capture(f, case.pattern, (f.read(path) if path is not None else None) or value)


def passed_by(f: Frame, subject: cst.BaseExpression, case: cst.MatchCase) -> None:
    """What the later cases know of the subject."""
    if case.guard is None:
        _by_type(f, case, dotted(subject), _pattern(f, case.pattern), False)


def _pattern(f: Frame, pattern: cst.MatchPattern) -> set[str]:
    """The kinds that a pattern asks for by classes without further conditions."""
    if isinstance(pattern, cst.MatchOr):
        return set[str]().union(*(_pattern(f, e.pattern) for e in pattern.patterns))
    if isinstance(pattern, cst.MatchAs):
        return _pattern(f, pattern.pattern) if pattern.pattern is not None else set()
    plain = isinstance(pattern, cst.MatchClass) and not pattern.patterns and not pattern.kwds
    return _kinds(f, pattern.cls) if plain else {"other"}  # type: ignore[attr-defined]


def _capture(f: Frame, pattern: cst.MatchPattern, value: Value) -> None:
    if isinstance(pattern, cst.MatchAs):
        if pattern.name is not None:
            f.bind(pattern.name.value, value)
        if pattern.pattern is not None:
            _capture(f, pattern.pattern, value)
        return
    known = fields_of(value)
    kwds = pattern.kwds if isinstance(pattern, cst.MatchClass) else ()
    for keyword in kwds:
        _capture(f, keyword.pattern, known.get(keyword.key.value, UNKNOWN))
    named = {id(node) for keyword in kwds for node in walk(keyword.pattern)}
    for node in walk(pattern):
        if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None and id(node) not in named:
            f.bind(node.name.value, UNKNOWN)


def _by_type(f: Frame, test: cst.CSTNode, path: str | None, tested: set[str], holds: bool) -> None:
    value = f.read(path) if path is not None else None
    if path is None or value is None or not tested:
        return
    if "tensor" in tested and not holds and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
        f.state.env[path] = _narrowed(f, test, value, Kind.UNKNOWN)
    elif tested == {"tensor"} and holds and value.kind is Kind.UNKNOWN:
        f.state.env[path] = replace(value, kind=Kind.TENSOR)
    elif tested == {"host"} and holds and value.kind in (Kind.TENSOR, Kind.UNKNOWN):
        f.state.env[path] = _narrowed(f, test, value, Kind.HOST)


def _narrowed(f: Frame, test: cst.CSTNode, value: Value, kind: Kind) -> Value:
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
    return _kinds(f, second)


def _kinds(f: Frame, types: cst.BaseExpression) -> set[str]:
    """The kinds of a class, of a tuple of classes, of `int | float`."""
    if isinstance(types, (cst.Tuple, cst.List, cst.Set)):
        return set[str]().union(*(_kinds(f, e.value) for e in types.elements))
    if isinstance(types, cst.BinaryOperation):
        return _kinds(f, types.left) | _kinds(f, types.right)
    return {_kind(evaluate(f, types).name or "")}


def _having(attribute: object) -> set[str]:
    """The kinds of what has an attribute: each tensor has all of its methods, arrays have some of them too."""
    if attribute in TENSOR_METHODS:
        return {"tensor"}
    return {"tensor", "host"} if isinstance(attribute, str) and knowledge.tensor_method(attribute) else set()


def _kind(name: str) -> str:
    if name in TENSOR_TYPES:
        return "tensor"
    return "host" if name in HOST_TYPES or name.startswith(("numpy.", "numbers.")) else "other"
