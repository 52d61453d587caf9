"""Expressions: what each evaluates to. One small function a node type, found through a table."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow import bindings, scope
from torchmemlint.flow.dispatch import EXPRESSIONS, evaluate, nested
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.graph import Argument, Mode, Sink
from torchmemlint.flow.holders import element_of, literal, load, module_in
from torchmemlint.flow.strides import indexed_layout
from torchmemlint.flow.tested import decided, narrow
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Layout, Value, join, replace

METADATA = frozenset(
    "shape ndim dtype device layout is_cuda is_cpu is_leaf is_sparse requires_grad grad_fn names nbytes".split()
)
DETACHED = frozenset({"data", "grad"})
OF_TENSORS = METADATA | DETACHED | {"mT", "mH"}
SOME_NUMBER = replace(HOST, const=0.5)
SHUFFLED = frozenset({"T", "mT", "H", "mH"})
OF_OBJECTS = frozenset({cst.Is, cst.IsNot, cst.In, cst.NotIn})
"""Comparisons that give a bool, whatever is compared."""


def _name(f: Frame, node: cst.Name) -> Value:
    value = f.state.env.get(node.value)
    return value if value is not None else scope.lookup(f, node)


def _attribute(f: Frame, node: cst.Attribute) -> Value:
    path = dotted(node)
    if path is not None:
        value = f.read(path)
        if value is not None:
            return value
    return attribute_of(f, node, evaluate(f, node.value), path)


def attribute_of(f: Frame, node: cst.Attribute, base: Value, path: str | None) -> Value:
    """The value of `base.attr` where no binding of the path is known."""
    name = node.attr.value
    if base.kind is Kind.EXTERNAL:
        return f.program.member(f.unit.index, base.name or "", name)
    if base.kind is Kind.TENSOR or (base.kind is Kind.UNKNOWN and name in OF_TENSORS):
        return _tensor_attribute(f, node, base, name)
    if base.kind is Kind.HOST:
        return HOST
    if base.kind is Kind.CONTAINER and knowledge.container_method(name) is not None and path is not None:
        return Value(kind=Kind.FUNCTION, graph=Fact.NO, name=f"method:{name}", elements=(base,))
    if isinstance(base.elements, dict) and name in base.elements:
        return base.elements[name] if base.kind is not Kind.INSTANCE else _field(f, node, base, path)
    if path is not None and base.kind is not Kind.CONTAINER:
        return load(f, path, node, base=base).value
    graph, params = f.derived([base])
    return f.op("load", node, Value(graph=graph, params=params), inputs=[base]).value


def _field(f: Frame, node: cst.Attribute, base: Value, path: str | None) -> Value:
    """What an object holds that was made in sight."""
    name = node.attr.value
    for user in base.defs[0].uses if len(base.defs) == 1 else ():
        if user.name == "load" and type(user.node) is cst.Attribute and user.node.attr.value == name:
            return user.value  # a backward on what was read before has walked the same graph
    member = base.elements[name]  # type: ignore[index, call-overload]
    op = f.op("load", node, member, inputs=[base, member], path=path)
    op.receiver = base
    return op.value


def _tensor_attribute(f: Frame, node: cst.Attribute, base: Value, name: str) -> Value:
    if name in METADATA:
        return HOST
    if name in DETACHED:
        value = replace(base, graph=Fact.NO, params=frozenset(), defs=(), shares=base.defs if name == "data" else ())
        return f.op(f"torch.{name}", node, value, receiver=base, receiver_node=node.value, passes=False).value
    layout = Layout.STRIDED if name in SHUFFLED else base.layout
    value = f.tensor([base], layout=layout, shares=base.defs, dtype=base.dtype, device=base.device)
    return f.op(f"torch.{name}", node, value, receiver=base, receiver_node=node.value).value


def _subscript(f: Frame, node: cst.Subscript) -> Value:
    base = evaluate(f, node.value)
    key = bindings.subscript_key(f, node)
    if base.kind is Kind.HOST:
        return HOST
    if base.kind is Kind.TENSOR:
        return _index(f, node, base)
    if isinstance(base.elements, dict) and key in base.elements:
        return base.elements[key]
    members = base.elements if isinstance(base.elements, tuple) and not any(op.stores for op in base.defs) else ()
    if isinstance(key, int) and -len(members) <= key < len(members):
        return members[key]
    if base.kind in (Kind.CONTAINER, Kind.MODULE):
        return _member(f, node, base)
    graph, params = f.derived([base]) if f.state.mode is not Mode.OFF else (min(base.graph, Fact.MAYBE), base.params)
    layout = indexed_layout(node.slice, base.layout)
    value = Value(graph=graph, params=params, layout=layout, shares=base.defs if layout is Layout.STRIDED else ())
    return f.op("item", node, value, inputs=[base]).value


def _member(f: Frame, node: cst.Subscript, base: Value) -> Value:
    if any(type(s.slice) is cst.Slice for s in node.slice):
        elements = base.elements if base.kind is Kind.MODULE else None  # `layers[:-1]`: modules of the same classes
        return f.op("read", node, replace(base, elements=elements), inputs=[base]).value
    if base.kind is Kind.MODULE:
        return f.op("item", node, module_in(f, base), inputs=[base]).value
    return element_of(f, node, base) if base.defs or base.elements else UNKNOWN


def _index(f: Frame, node: cst.Subscript, base: Value) -> Value:
    """Basic indexing gives a view; a tensor or list index gathers into a fresh tensor. `loss.data[0]` gave a number
    before PyTorch 0.4, and nothing since."""
    arguments, gathers, unsure = [], False, False
    for element in node.slice:
        if type(element.slice) is cst.Slice:
            for bound in (element.slice.lower, element.slice.upper, element.slice.step):
                if bound is not None:
                    evaluate(f, bound)
            continue
        if type(element.slice) is not cst.Index:
            continue
        value = evaluate(f, element.slice.value)
        arguments.append(Argument(None, value, element.slice.value))
        gathers = gathers or value.kind in (Kind.TENSOR, Kind.CONTAINER)
        unsure = unsure or value.kind is Kind.UNKNOWN  # an int, or a tensor of indices
    if base.scalar is Fact.YES and len(arguments) == len(node.slice) == 1 and type(arguments[0].node) is cst.Integer:
        return f.op("torch.item", node, HOST, receiver=base, receiver_node=node.value, passes=False).value
    first_only = len(node.slice) == 1 and base.layout is Layout.CONTIGUOUS
    layout = indexed_layout(node.slice, base.layout)
    if gathers or unsure:
        layout = Layout.CONTIGUOUS if first_only else Layout.UNKNOWN
    value = f.tensor([base], layout=layout, shares=() if gathers else base.defs, dtype=base.dtype, device=base.device)
    name = "torch.index" if gathers or unsure else "torch.getitem"
    return f.op(name, node, value, receiver=base, receiver_node=node.value, arguments=arguments).value


def _binary(f: Frame, node: cst.BinaryOperation) -> Value:
    left, right = evaluate(f, node.left), evaluate(f, node.right)
    if left.kind is Kind.HOST and right.kind is Kind.HOST and not (left.defs or right.defs):
        return HOST
    if Kind.TENSOR in (left.kind, right.kind):
        value = f.tensor([left, right], device=left.device or right.device, scalar=min(_scalar(left), _scalar(right)))
    elif left.kind is Kind.CONTAINER and isinstance(node.operator, (cst.Add, cst.Multiply)):
        graph, params = f.derived([left, right])
        members = [*_known(left), *_known(right)] if type(node.operator) is cst.Add else [*_known(left)]
        value = Value(
            kind=Kind.CONTAINER, graph=graph, params=params, name=left.name, elements=tuple(members[:8]) or None
        )
        return f.op("literal.list", node, value, inputs=[left, right]).value
    else:
        graph, params = f.derived([left, right])
        value = Value(
            kind=Kind.HOST if left.kind is right.kind is Kind.HOST else Kind.UNKNOWN, graph=graph, params=params
        )
    name = "torch.matmul" if type(node.operator) is cst.MatrixMultiply else "arith"
    arguments = [Argument(None, left, node.left), Argument(None, right, node.right)]
    layouts = {v.layout for v in (left, right) if v.kind is not Kind.HOST}
    if value.kind is Kind.TENSOR and layouts == {Layout.CONTIGUOUS}:
        value = replace(value, layout=Layout.CONTIGUOUS)
    return f.op(name, node, value, arguments=arguments).value


def _known(value: Value) -> tuple[Value, ...]:
    return value.elements if isinstance(value.elements, tuple) else ()


def _scalar(value: Value) -> Fact:
    return Fact.YES if value.kind is Kind.HOST else value.scalar


def _unary(f: Frame, node: cst.UnaryOperation) -> Value:
    value = evaluate(f, node.expression)
    if type(node.operator) is cst.Not:
        return HOST
    if value.kind is Kind.HOST:
        return HOST
    graph, params = f.derived([value])
    result = Value(kind=value.kind, graph=graph, params=params)
    if value.kind is Kind.TENSOR:
        result = replace(result, scalar=value.scalar, device=value.device)
    return f.op("arith", node, result, inputs=[value]).value


def _boolean(f: Frame, node: cst.BooleanOperation) -> Value:
    return join(evaluate(f, node.left), evaluate(f, node.right))


def _comparison(f: Frame, node: cst.Comparison) -> Value:
    values = [evaluate(f, node.left), *(evaluate(f, c.comparator) for c in node.comparisons)]
    if all(type(c.operator) in OF_OBJECTS for c in node.comparisons):
        return HOST
    kind = Kind.TENSOR if any(v.kind is Kind.TENSOR for v in values) else Kind.UNKNOWN
    if all(v.kind is Kind.HOST for v in values):
        return HOST
    return f.op("compare", node, Value(kind=kind, graph=Fact.NO, dtype="bool"), inputs=values, passes=False).value


def _conditional(f: Frame, node: cst.IfExp) -> Value:
    known = decided(f, node.test)
    if known is not None:
        return evaluate(f, node.body if known else node.orelse)
    evaluate(f, node.test)
    outer, f.state = f.state, f.state.fork()
    narrow(f, node.test, True)
    body = evaluate(f, node.body)
    f.state = outer.fork()
    narrow(f, node.test, False)
    orelse = evaluate(f, node.orelse)
    f.state = outer
    if body.kind is orelse.kind is Kind.EXTERNAL and body.name and orelse.name and body.name != orelse.name:
        effect = f.program.effect(body.name)
        if effect is not None and effect == f.program.effect(orelse.name):
            return body  # `(inference_mode if new else no_grad)()`
        if knowledge.role(body.name) == knowledge.role(orelse.name) == "wrapper":
            return body  # `(spectral_norm if spectral else weight_norm)(layer)` is the layer either way
    return join(body, orelse)


def _sequence(f: Frame, node: cst.Tuple | cst.List | cst.Set) -> Value:
    members = [(e.value, evaluate(f, e.value)) for e in node.elements]
    name = type(node).__name__.lower()
    value = literal(f, node, name, members)
    if any(type(e) is cst.StarredElement for e in node.elements):
        value = replace(value, elements=None)
    return value


def _dict(f: Frame, node: cst.Dict) -> Value:
    elements: dict[Any, Value] | None = {}
    values = []
    for element in node.elements:
        value = evaluate(f, element.value)
        values.append(value)
        key = evaluate(f, element.key).const if type(element) is cst.DictElement else None
        if key is None or elements is None:
            elements = None
        else:
            elements[key] = value
    graph, params = f.derived(values)
    value = Value(kind=Kind.CONTAINER, graph=graph, params=params, elements=elements, name="dict")
    return f.op("literal.dict", node, value, inputs=values).value


def _comprehension(f: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp) -> Value:
    """A comprehension is a loop that stores its element into the holder it makes."""
    outer_env, outer_loops = f.state.env, f.loops
    f.state.env = dict(outer_env)
    holder = f.op("comprehension", node, Value(kind=Kind.CONTAINER, graph=Fact.NO, name=type(node).__name__))
    clause: cst.CompFor | None = node.for_in
    while clause is not None:
        iterable = evaluate(f, clause.iter)
        f.loops = (*f.loops, f.number(clause))
        bindings.assign(f, clause.target, element_of(f, clause.iter, iterable), clause.iter)
        for condition in clause.ifs:
            evaluate(f, condition.test)
        clause = clause.inner_for_in
    element = node.value if isinstance(node, cst.DictComp) else node.elt
    if type(node) is cst.DictComp:
        evaluate(f, node.key)
    value = evaluate(f, element)
    f.store(holder, element, value, element, "comprehension")
    f.state.env, f.loops = outer_env, outer_loops
    graph, params = f.derived([value])
    holder.value = replace(holder.value, graph=graph, params=params)
    return holder.value


def _yield(f: Frame, node: cst.Yield) -> Value:
    if node.value is None:
        f.yields.append(f.op("yield", node, HOST))
        return UNKNOWN
    inner = node.value.item if type(node.value) is cst.From else node.value
    value = evaluate(f, inner)
    f.yields.append(f.op("yield", node, value, inputs=[value], sunk=[Sink.YIELDED] if f.depth == 0 else ()))
    return UNKNOWN


def _await(f: Frame, node: cst.Await) -> Value:
    return evaluate(f, node.expression)


def _walrus(f: Frame, node: cst.NamedExpr) -> Value:
    value = evaluate(f, node.value)
    bindings.assign(f, node.target, value, node.value)
    return value


def _formatted(f: Frame, node: cst.FormattedString) -> Value:
    for part in node.parts:
        if type(part) is cst.FormattedStringExpression:
            to_host(f, part, evaluate(f, part.expression))
    return HOST


def _concatenated(f: Frame, node: cst.ConcatenatedString) -> Value:
    evaluate(f, node.left)
    evaluate(f, node.right)
    return HOST


def to_host(f: Frame, node: cst.CSTNode, value: Value) -> Value:
    """`value` is turned into Python data: its graph ends here."""
    if value.defs:
        f.op("host", node, HOST, inputs=[value], passes=False, sunk=[Sink.HOST])
    return HOST


def _starred(f: Frame, node: cst.StarredElement) -> Value:
    return evaluate(f, node.value)


def _literal(f: Frame, node: cst.SimpleString | cst.Integer) -> Value:
    return _constant(type(node), node.value)


@lru_cache(maxsize=4096)
def _constant(kind: type[cst.BaseExpression], spelled: str) -> Value:
    """A literal's value, made once for each spelling: the same few are everywhere."""
    if kind is cst.Integer:
        return replace(HOST, const=int(spelled.replace("_", ""), 0) if len(spelled) < 20 else None)
    raw = cst.SimpleString(spelled).raw_value
    return replace(HOST, const=raw) if "\\" not in raw else HOST


def _number(f: Frame, node: cst.CSTNode) -> Value:
    return SOME_NUMBER


EXPRESSIONS |= {
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.IfExp: _conditional,
    cst.Lambda: nested,
    cst.Tuple: _sequence,
    cst.List: _sequence,
    cst.Set: _sequence,
    cst.Dict: _dict,
    cst.ListComp: _comprehension,
    cst.SetComp: _comprehension,
    cst.GeneratorExp: _comprehension,
    cst.DictComp: _comprehension,
    cst.Yield: _yield,
    cst.Await: _await,
    cst.NamedExpr: _walrus,
    cst.FormattedString: _formatted,
    cst.ConcatenatedString: _concatenated,
    cst.StarredElement: _starred,
    cst.SimpleString: _literal,
    cst.Integer: _literal,
    cst.Float: _number,
    cst.Imaginary: _number,
}
