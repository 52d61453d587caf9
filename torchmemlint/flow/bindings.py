"""Binding targets: names, attributes, subscripts, unpacking, augmented assignment."""

from __future__ import annotations

from typing import Any

import libcst as cst

from torchmemlint.flow.dispatch import evaluate
from torchmemlint.flow.fields import renewed
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.graph import ARITHMETIC, Argument, Mode, Op, Sink, closure
from torchmemlint.flow.holders import extend, holders_of, load, outliving
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Layout, Value, replace


def assign(f: Frame, target: cst.CSTNode, value: Value, value_node: cst.BaseExpression | None) -> None:
    """Bind `value` to an assignment target of any form."""
    if type(target) is cst.Name:
        _name(f, target, value, value_node)
    elif type(target) is cst.Attribute:
        _attribute(f, target, value, value_node, "assign")
    elif type(target) is cst.Subscript:
        _subscript(f, target, value, value_node, "setitem")
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(f, target, value, value_node)
    elif isinstance(target, (cst.StarredElement, cst.AsName)):
        assign(f, target.value if isinstance(target, cst.StarredElement) else target.name, UNKNOWN, None)


def _name(f: Frame, target: cst.Name, value: Value, value_node: cst.BaseExpression | None) -> None:
    name = target.value
    if name in f.shared:
        op = f.store(load(f, name, target), target, value, value_node, "assign", sunk=[Sink.GLOBAL], path=name)
        f.bind(name, replace(value, defs=value.defs or (op,)))
        return
    if value.defs:
        f.op("bind", target, value, inputs=[value], passes=False, path=name)
    f.bind(name, value)


def subscript_key(f: Frame, node: cst.Subscript) -> Any:
    """The constant key of a subscript with one plain index, else None."""
    if len(node.slice) == 1 and type(node.slice[0].slice) is cst.Index:
        return evaluate(f, node.slice[0].slice.value).const
    return None


def is_object_state(f: Frame, path: str) -> bool:
    """Is the path's root an object that outlives the call: self, cls, a parameter, or a global?"""
    root = path.partition(".")[0]
    value = f.read(root)
    return value is None or any(op.name in ("param", "load", "iter", "item") for op in value.defs)


def store_attribute(f: Frame, target: cst.Attribute, value: Value, node: cst.BaseExpression, call: cst.CSTNode) -> None:
    """`setattr(obj, "name", value)`: the store stands at the call."""
    _attribute(f, target, value, node, "assign", call)


def _attribute(
    f: Frame,
    target: cst.Attribute,
    value: Value,
    node: cst.BaseExpression | None,
    how: str,
    place: cst.CSTNode | None = None,
) -> None:
    base = evaluate(f, target.value)
    path = dotted(target)
    if path is None and base.kind is Kind.CLASS:  # type(self).name = …
        info = f.program.class_(base.name)
        path = f"{info.name}.{target.attr.value}" if info is not None else None
    if target.attr.value == "requires_grad" and value.const is False:
        freeze(f, base)
    if target.attr.value in ("data", "grad") and base.kind is not Kind.INSTANCE:
        f.op("write", target, HOST, receiver=base, inputs=[value], passes=False, path=path)
        return
    if path is None or base.kind is Kind.EXTERNAL:
        f.op("store", target, value, inputs=[value], sunk=[Sink.ATTRIBUTE], path=path)
        return
    kind = Sink.GLOBAL if base.kind in (Kind.CLASS, Kind.FUNCTION) else Sink.ATTRIBUTE
    sunk = [kind] if kind is Sink.GLOBAL or is_object_state(f, path) else []
    holder = load(f, path, target, fresh=False, base=base)
    known = f.read(dotted(target.value) or "") if base.kind is Kind.INSTANCE and base.elements else None
    if known is not None:
        f.bind(dotted(target.value) or "", renewed(known, {target.attr.value: value}))
    how = "accumulate" if how == "assign" and _adds_to(holder, value) else how
    f.store(holder, place or target, value, node, how, sunk=sunk, path=path)
    f.bind(path, value)


def _adds_to(holder: Op, value: Value) -> bool:
    """Is the value computed by arithmetic from what the attribute held (`self.x = 0.9 * self.x + y`)?"""
    return holder in closure(value.defs, lambda o: o.inputs if o.name in ARITHMETIC else ())


def freeze(f: Frame, parameter: Value) -> None:
    """`p.requires_grad = False` for the parameters of a module: the module records no gradients of its own."""
    for op in parameter.defs:
        for source in (op, *op.inputs):
            if source.name == "parameters" and source.path is not None:
                f.frozen.add(source.path)
                module = f.read(source.path)
                if module is not None:
                    f.bind(source.path, replace(module, trainable=Fact.NO))


def _subscript(f: Frame, target: cst.Subscript, value: Value, node: cst.BaseExpression | None, how: str) -> None:
    base = evaluate(f, target.value)
    key = subscript_key(f, target)
    if base.kind is Kind.TENSOR:
        graph, params = f.derived([base, value])
        op = f.op(
            "torch.setitem",
            target,
            replace(base, graph=graph, params=params),
            receiver=base,
            arguments=[Argument(None, value, node)] if node is not None else (),
            inputs=[value],
        )
        _written(f, target.value, op)
        return
    ways = _own_ways(f, base, how)
    if not ways:
        return
    how = how if how in ways else min(ways)
    for holder in holders_of(f, target.value, base):
        f.store(holder, target, value, node, how, path=dotted(target.value), sunk=outliving(holder))
    path = dotted(target.value)
    known = f.read(path) if path else None
    if known is not None and isinstance(known.elements, dict) and key is not None:
        members = {**known.elements, key: value}
        graph, params = f.derived(members.values())
        f.bind(path or "", replace(known, elements=members, graph=graph, params=params))


def _written(f: Frame, target: cst.BaseExpression, op: Op) -> None:
    """What is written into a tensor, or into a part of it (`x[i][mask] = y`), is in what its name stands for."""
    part = target
    while type(part) is cst.Subscript:
        part = part.value
    path = dotted(part)
    known = f.read(path) if path is not None else None
    if path is None or known is None:
        return
    if part is target:
        f.bind(path, op.value)
    elif known.kind is Kind.TENSOR:
        graph, params = f.derived([known, op.value])
        f.bind(path, replace(known, graph=graph, params=params, defs=(op,)))


def _own_ways(f: Frame, base: Value, how: str) -> set[str]:
    """How the object keeps what it is given for a key: its own `__setitem__` may append it to a list of its own, or
    neither keep the graph nor hand it on."""
    info = f.program.method(base.name, "__setitem__") if base.kind in (Kind.INSTANCE, Kind.MODULE) else None
    summary = f.program.summary(info, ()) if info is not None and len(info.parameters) == 3 else None
    kept = {k.how for k in summary.kept if 2 in k.params} if summary is not None else set()
    if summary is None or kept:
        return kept or {how}
    return set() if summary.parameter_sinks[2] <= {Sink.HOST, Sink.LIBRARY, Sink.ATTRIBUTE} else {how}


def _unpack(f: Frame, target: cst.Tuple | cst.List, value: Value, node: cst.BaseExpression | None) -> None:
    known = _members(value)
    exact = len(known) == len(target.elements) and not any(type(e) is cst.StarredElement for e in target.elements)
    for position, element in enumerate(target.elements):
        if type(element) is cst.StarredElement:
            assign(f, element.value, replace(UNKNOWN, graph=value.graph, params=value.params, defs=value.defs), None)
            continue
        part = _given_by_loop(known[position], value) if exact else member(value)
        if position == 0 and not exact and _paired(value):
            part = replace(UNKNOWN, graph=Fact.NO)  # a key: no result of a forward is one
        assign(f, element.value, part, _shown(target, node, position))


def _given_by_loop(part: Value, value: Value) -> Value:
    """A tensor that a generator is known to yield has nothing but the loop behind it."""
    if part.defs or part.kind is not Kind.TENSOR or part.fact is not Fact.NO:
        return part
    return replace(part, defs=value.defs) if all(op.name == "iter" for op in value.defs) else part


def _paired(value: Value) -> bool:
    """Is it a pair of key and value, as `.items()` lists them?"""
    listed = [maker for op in value.defs if op.name == "iter" for maker in op.inputs]
    return bool(listed) and len(value.defs) == 1 and all(map(_lists_items, listed))


def _lists_items(op: Op) -> bool:
    func = op.node.func if type(op.node) is cst.Call and not op.node.args else None
    return op.name in ("read", "?call") and type(func) is cst.Attribute and func.attr.value == "items"


def _shown(target: cst.Tuple | cst.List, node: cst.BaseExpression | None, position: int) -> cst.BaseExpression | None:
    """The expression of one member, where the unpacked value is written as a tuple of as many."""
    if type(node) is not cst.Tuple and type(node) is not cst.List or len(node.elements) != len(target.elements):
        return None
    starred = any(type(e) is cst.StarredElement for e in (*node.elements, *target.elements))
    return None if starred else node.elements[position].value


def _members(value: Value) -> tuple[Value, ...]:
    """The known members in order; of a named tuple those under 0, 1, …"""
    if isinstance(value.elements, dict):
        return tuple(value.elements[i] for i in range(len(value.elements)) if i in value.elements)
    return value.elements or ()


def member(value: Value) -> Value:
    """What is known of one member of an unpacked or iterated value."""
    kind = value.kind if value.kind in (Kind.TENSOR, Kind.HOST) else Kind.UNKNOWN
    kind = Kind.TENSOR if value.name == "tensors" else kind  # of split, chunk and unbind
    layout = value.layout if value.name == "tensors" else Layout.UNKNOWN
    return Value(kind=kind, graph=value.graph, params=value.params, defs=value.defs, layout=layout, device=value.device)


def _kept_graph(f: Frame, old: Value) -> dict[str, Any]:
    """In place under no_grad a tensor stays what it was: a leaf that requires grad still does."""
    keeps = f.state.mode is Mode.OFF and old.kind is Kind.TENSOR
    return {"graph": old.graph, "params": old.params} if keeps else {}


def augment(f: Frame, node: cst.AugAssign) -> None:
    """`target op= value`."""
    value = evaluate(f, node.value)
    target = node.target
    old = evaluate(f, target)
    if old.kind is Kind.CONTAINER and isinstance(node.operator, (cst.AddAssign, cst.BitOrAssign)):
        extend(f, node, target, old, value, node.value)
        return
    if old.kind is Kind.HOST and value.kind is Kind.HOST:
        new = HOST
    elif old.kind is Kind.TENSOR or value.kind is Kind.TENSOR:
        new = f.tensor(
            [old, value],
            **_kept_graph(f, old),
            layout=old.layout,
            scalar=max(old.scalar, value.scalar) if old.kind is Kind.TENSOR else value.scalar,
        )
    else:
        graph, params = f.derived([old, value])
        new = Value(graph=graph, params=params)
    op = f.op(
        "arith",
        node,
        new,
        receiver=old,
        inputs=[value],
        arguments=[Argument(None, value, node.value)],
        path=dotted(target),
    )
    if type(target) is cst.Name:
        _name(f, target, op.value, node.value)
    elif type(target) is cst.Attribute:
        _attribute(f, target, op.value, node.value, "accumulate")
    elif type(target) is cst.Subscript:
        _subscript(f, target, op.value, node.value, "accumulate")
