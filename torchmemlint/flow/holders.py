"""Holders: lists, dicts, deques, attributes, globals. What goes in, what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.graph import Argument, Op, Sink
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Layout, Value, join, known_members, replace


def literal(f: Frame, node: cst.BaseExpression, name: str, members: Sequence[tuple[cst.CSTNode, Value]]) -> Value:
    """A list, tuple or set display with its members."""
    values = [value for _, value in members]
    elements = tuple(values) if name != "set" else None
    graph, params = f.derived(values)
    value = Value(kind=Kind.CONTAINER, graph=graph, params=params, elements=elements, name=name)
    arguments = [Argument(None, member, source) for source, member in members]  # type: ignore[arg-type]
    return f.op(f"literal.{name}", node, value, arguments=arguments).value


def load(f: Frame, path: str, node: cst.CSTNode, *, fresh: bool = True, base: Value | None = None) -> Op:
    """The operation that stands for what the path holds when the function is entered; bound on first reading."""
    anchor = f.anchors.get(path)
    if anchor is None:
        anchor = f.anchors[path] = node
    op = f.table.get((id(anchor), "load"))
    if op is not None and _of_another(op, base):
        f.anchors[path], op = node, None
    if op is None:
        value = f.program.path_value(f, path, base) if fresh else UNKNOWN
        if base is not None and base.kind is Kind.INSTANCE and base.params and value.graph is Fact.MAYBE:
            value = replace(value, graph=Fact.NO, params=base.params)  # a field of a record that is handed in
        op = f.op("load", f.anchors[path], value, path=path, receiver=base)
    if fresh and f.read(path) is None:
        f.put(path, op.value)
    return op


def _of_another(op: Op, base: Value | None) -> bool:
    """Was the attribute read from an object that the name has since ceased to stand for?"""
    former = op.receiver.defs if op.receiver is not None else ()
    return base is not None and bool(former and base.defs) and set(former).isdisjoint(base.defs)


def holders_of(f: Frame, node: cst.BaseExpression, value: Value) -> list[Op]:
    """The operations that stand for a container value; an attribute that nothing bound here is loaded."""
    if value.defs:
        return list(
            dict.fromkeys(root for op in value.defs if op.name not in ("arith", "compare") for root in roots(op))
        )
    path = dotted(node)
    if path is None or "." not in path and path not in f.shared and f.read(path) is not None:
        return []  # a name of the function's own, as yet without a container: `state = None`
    return [load(f, path, node)]


def _keys(op: Op) -> list[Op]:
    """What names the member that `holder.setdefault(key, [])` or `holder.get(key)` gives: no part of the holder."""
    return list(op.arguments[0].value.defs) if op.name == "read" and op.arguments else []


def roots(op: Op) -> list[Op]:
    """The containers that a container read from another one lives in; the operation itself where it is not read."""
    found, todo, seen = [], [op], {op}
    while todo:
        current = todo.pop()
        outer = [o for o in current.inputs if o.name != "store"] if current.name in ("iter", "item", "read") else []
        outer = [o for o in outer if o not in _keys(current)] or outer
        found += [] if outer else [current]
        todo += [o for o in outer if o not in seen]
        seen.update(outer)
    return found


def element_of(f: Frame, node: cst.BaseExpression, container: Value) -> Value:
    """What a loop over, or an unknown key of, the container gives."""
    if container.kind is Kind.LOADER:
        return f.op("batch", node, Value(graph=Fact.NO, name="batch"), inputs=[container], passes=False).value
    if container.kind is Kind.HOST:
        return HOST
    if container.kind is Kind.MODULE:
        return f.op("iter", node, module_in(f, container), inputs=[container]).value
    known = members_of(container)
    if known:
        value = _any_of(f, known)
    else:
        kind = Kind.CONTAINER if _holds_containers(container) else Kind.UNKNOWN
        kind = Kind.TENSOR if container.name == "tensors" else kind  # of split, chunk and unbind
        value = Value(kind=kind, graph=_of_members(container), params=container.params, defs=container.defs)
    if container.kind is Kind.TENSOR:
        value = replace(value, kind=Kind.TENSOR, layout=Layout.UNKNOWN, dtype=container.dtype, device=container.device)
    defs = value.defs
    op = f.op("iter", node, value, inputs=[container, value])
    if known and len(defs) == 1 and container.name in ("tuple", "list") and not any(d.stores for d in container.defs):
        return value
    return op.value


def _of_members(container: Value) -> Fact:
    """The graph fact of a member that nothing is known of; what other functions put into an attribute may have one."""
    attribute = any(op.name == "load" and "." in (op.path or "") for op in container.defs)
    return max(container.graph, Fact.MAYBE) if attribute and container.kind is Kind.CONTAINER else container.graph


def module_in(f: Frame, container: Value) -> Value:
    """A member of an nn.ModuleList, ModuleDict or Sequential: one of those that it was made of."""
    members = [m for m in members_of(container) if m.kind is Kind.MODULE]
    member = _any_of(f, members) if members else Value(kind=Kind.MODULE, graph=Fact.NO)
    return replace(member, trainable=max([m.trainable for m in members], default=container.trainable))


def _any_of(f: Frame, members: Sequence[Value]) -> Value:
    """One of several values; of objects of several classes one of their common base."""
    value = members[0]
    for other in members[1:]:
        value = join(value, other)
    if value.kind is Kind.INSTANCE and value.name is None:
        value = replace(value, name=f.program.common_base([m.name for m in members]))
    return value


def _holds_containers(container: Value) -> bool:
    nested = any(store.nested for op in container.defs for store in op.stores)
    return nested or container.name == "collections.defaultdict"


def members_of(container: Value) -> list[Value]:
    """The known members of a container: those it was made with, and those stored since."""
    stored = [s.value for op in container.defs for s in op.stores if s.how != "extend" and not s.nested]
    return [*known_members(container), *stored]


def extend(
    f: Frame, node: cst.CSTNode, target: cst.BaseExpression, old: Value, new: Value, source: cst.CSTNode
) -> None:
    """`target += new` of a list: the members of `new` are stored."""
    for holder in holders_of(f, target, old):
        f.store(
            holder,
            node,
            replace(new, kind=Kind.CONTAINER),
            source,
            "extend",
            path=dotted(target),
            sunk=outliving(holder),
        )


def outliving(holder: Op) -> list[Sink]:
    """The sinks of a store into `holder`: attributes and globals outlive the call."""
    if holder.name != "load" or holder.path is None:
        return []
    return [Sink.ATTRIBUTE if "." in holder.path else Sink.GLOBAL]


def method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    """A call of a container's method; None where the name is no such method."""
    fact = knowledge.container_method(func.attr.value)
    if fact is None:
        return None
    holders = holders_of(f, func.value, base)
    if fact.stores is not None and args:
        _store(f, node, holders, args, fact.stores, fact.elements, func)
    if fact.clears:
        f.op("clear", node, HOST, inputs=[base], passes=False, path=dotted(func.value))
    if fact.reads:
        op = f.op("read", node, _read_value(f, func, base, args), receiver=base, arguments=args)
        return op.value
    return HOST


def bound_method(f: Frame, node: cst.Call, name: str, base: Value, args: list[Argument]) -> Value:
    """A call of a container's method that was bound to a name (`push = scores.append`)."""
    func = cst.Attribute(cst.Name("_"), cst.Name(name))
    return method(f, node, func, base, args) or HOST


def function(f: Frame, node: cst.Call, fact: knowledge.ContainerFact, args: list[Argument]) -> Value:
    """A function that is given the container: `heapq.heappush(heap, x)`."""
    holder = args[fact.holder or 0]
    stored = args[fact.stores] if fact.stores is not None and fact.stores < len(args) else None
    for root in holders_of(f, holder.node, holder.value):
        if stored is not None:
            f.store(root, node, stored.value, stored.node, "append", path=dotted(holder.node), sunk=outliving(root))
    return f.op("read", node, _members_joined(holder.value), receiver=holder.value).value if fact.reads else HOST


def _members_joined(container: Value) -> Value:
    return Value(graph=container.graph, params=container.params)


def _read_value(f: Frame, func: cst.Attribute, base: Value, args: list[Argument]) -> Value:
    members = members_of(base)
    if func.attr.value in ("keys", "index", "count"):
        return HOST
    graph, params = f.derived([base, *members, *(a.value for a in args[1:])])
    key = args[0].value.const if args else None
    if isinstance(base.elements, dict) and key is not None and key in base.elements:
        return base.elements[key]
    default = args[1].value if len(args) == 2 and func.attr.value == "setdefault" else None
    if default is not None and default.kind in (Kind.INSTANCE, Kind.MODULE):
        return replace(default, elements=None, given=())  # all under that name are made alike
    if func.attr.value in ("values", "items") and members and all(m.kind is Kind.INSTANCE for m in members):
        return _listed(func.attr.value, members)
    kind = Kind.CONTAINER if func.attr.value in ("values", "items", "copy") else Kind.UNKNOWN
    if kind is Kind.UNKNOWN and members and all(m.kind is members[0].kind for m in members):
        kind = members[0].kind
    return Value(kind=kind, graph=graph, params=params)


def _listed(name: str, objects: Sequence[Value]) -> Value:
    """What `.values()` and `.items()` of a dict of objects list."""
    key = replace(UNKNOWN, graph=Fact.NO)
    pairs = (Value(kind=Kind.CONTAINER, graph=Fact.NO, name="tuple", elements=(key, o)) for o in objects)
    return Value(kind=Kind.CONTAINER, graph=Fact.NO, elements=tuple(objects if name == "values" else pairs))


def _store(
    f: Frame,
    node: cst.Call,
    holders: Iterable[Op],
    args: list[Argument],
    position: int,
    elements: bool,
    func: cst.Attribute,
) -> None:
    plain = [a for a in args if a.name is None]
    chosen = [plain[position]] if position < len(plain) else [a for a in args if a.name not in (None, "key", "default")]
    how = "extend" if elements else func.attr.value
    nested = isinstance(func.value, (cst.Subscript, cst.Call))
    for argument in chosen:
        for holder in holders:
            f.store(
                holder,
                node,
                argument.value,
                argument.node,
                how,
                path=dotted(func.value),
                sunk=outliving(holder),
                nested=nested,
            )


def unknown_holder(value: Value) -> Value:
    """A container of which nothing is known but what made it."""
    return replace(UNKNOWN, kind=Kind.CONTAINER, graph=value.graph, params=value.params, defs=value.defs)
