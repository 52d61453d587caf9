"""nn.Module values: what calling one gives, and what its methods do."""

from __future__ import annotations

import libcst as cst

from torchmemlint.flow import project_calls, strides
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.graph import Argument, Mode, Op
from torchmemlint.flow.holders import holders_of, module_in
from torchmemlint.flow.types import is_property
from torchmemlint.flow.values import HOST, Fact, Kind, Value, mapped, replace

SELF = frozenset("to cuda cpu half float double bfloat16 eval train requires_grad_ share_memory type apply".split())
RECURRENT = frozenset({"LSTM", "GRU", "RNN", "LSTMCell"})
PASSES = frozenset(
    "encode_image encode_text get_image_features get_text_features forward_features extract_features "
    "encode_first_stage decode_first_stage".split()
)
"""Methods by which models of libraries run a part of their forward."""
CODES = frozenset({"encode", "decode"})  # the same on a tensor, else perhaps of text
PARAMETERS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children"})


LISTS = (".ModuleList", ".Sequential", ".ModuleDict")
ADDING = {"append": 0, "insert": 1, "add_module": 1, "extend": 0}
"""The methods of torch's lists of modules that put one in, by the place of their argument."""


def forward(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    """`module(inputs)`: the result carries a graph if the module trains, an input does, or its forward says so."""
    info = f.program.method(callee.name, "forward")
    if info is not None:
        return _project_forward(f, node, callee, args, project_calls.applied(f, node, info, args, callee))
    return _finish(f, node, callee, args, _external_result(f, callee, args))


def _project_forward(f: Frame, node: cst.Call, callee: Value, args: list[Argument], result: Value | None) -> Value:
    if result is None:
        return _finish(f, node, callee, args, _external_result(f, callee, args))
    if callee.trainable is Fact.NO:
        graph, params = f.derived([a.value for a in args])
        return _finish(f, node, callee, args, _with_graph(result, graph, params))
    if callee.trainable is Fact.YES and f.state.mode in (Mode.ON, Mode.ENTERED):
        result = _surely(result)
    return _finish(f, node, callee, args, result)


def _with_graph(value: Value, graph: Fact, params: frozenset[int]) -> Value:
    """The value and its members with no more of a graph than this: it comes from nowhere else."""
    if value.graph is not Fact.NO:
        value = replace(value, graph=min(value.graph, graph), params=params)
    return mapped(value, lambda v: _with_graph(v, graph, params))


def _surely(value: Value) -> Value:
    """What a trainable module returns carries its graph, unless its forward is known to return something else."""
    if value.graph is Fact.MAYBE and value.kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.CONTAINER):
        value = replace(value, graph=Fact.YES)
    return mapped(value, _surely)


def _external_result(f: Frame, callee: Value, args: list[Argument]) -> Value:
    graph, params = f.derived([a.value for a in args])
    if f.state.mode is not Mode.OFF:
        own = callee.trainable if f.state.mode is not Mode.UNKNOWN else min(callee.trainable, Fact.MAYBE)
        own = min(own, Fact.MAYBE) if callee.weak else own
        graph = graph.either(own)
    known = (callee.name or "").startswith("torch.nn.")
    kind = Kind.TENSOR if known else Kind.UNKNOWN
    value = Value(kind=kind, graph=graph, params=params, layout=strides.module_layout(callee.name or "", args))
    bare = (callee.name or "").rpartition(".")[2]
    if known and bare.endswith("Loss"):
        return replace(value, scalar=Fact.YES)
    if known and (bare in RECURRENT or bare == "MultiheadAttention") and bare != "GRUCell":
        state = replace(value, kind=Kind.UNKNOWN)
        return replace(value, kind=Kind.CONTAINER, elements=(value, state), name="tuple")
    return value


def _finish(f: Frame, node: cst.Call, callee: Value, args: list[Argument], value: Value) -> Value:
    op = f.op(
        "module",
        node,
        value,
        receiver=callee,
        receiver_node=node.func,
        arguments=args,
        callee=callee.name,
        path=dotted(node.func),
    )
    if is_attention(callee) and isinstance(value.elements, tuple):
        output, weights = value.elements
        parts = (
            f.op("module.output", node, output, inputs=[op.value]).value,
            f.op("module.weights", node, replace(weights, kind=Kind.TENSOR), inputs=[op.value]).value,
        )
        op.value = replace(op.value, elements=parts)
    else:
        op.value = _made(op.value, op)
    return op.value


def _made(value: Value, op: Op) -> Value:
    """The value with members that are made by the operation, those that have a graph."""
    return mapped(value, lambda e: e if e.graph is Fact.NO and not e.params else replace(_made(e, op), defs=(op,)))


def is_attention(callee: Value) -> bool:
    """Is it nn.MultiheadAttention, whose second result is often unread?"""
    return (callee.name or "").startswith("torch.nn.") and (callee.name or "").endswith(".MultiheadAttention")


def method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    """A method of a module: the known ones, a project class's own, else None."""
    name = func.attr.value
    info = f.program.method(base.name, name)
    if info is not None and not is_property(info):
        if name == "forward":
            return forward(f, node, base, args)
        return project_calls.call_function(f, node, info, args, base)
    if name == "forward":
        return forward(f, node, base, args)
    if name in SELF:
        return _itself(f, node, func, base, args)
    if name in ADDING and (base.name or "").endswith(LISTS):
        return _add(f, node, func, base, args)
    if name in ("items", "values", "keys") and (base.name or "").endswith(".ModuleDict"):
        return _entries(f, node, name, base)
    if name in PARAMETERS:
        op = f.op(
            "parameters",
            node,
            Value(kind=Kind.CONTAINER, graph=Fact.NO),
            receiver=base,
            passes=False,
            path=dotted(func.value),
        )
        op.value = replace(op.value, elements=_members_of(name, op))
        return op.value
    if name == "state_dict":
        return f.op(
            "state_dict",
            node,
            Value(kind=Kind.CONTAINER, graph=Fact.NO, name="state_dict"),
            receiver=base,
            passes=False,
            path=dotted(func.value),
        ).value
    if name in ("load_state_dict", "zero_grad", "register_buffer", "register_parameter"):
        return f.op(name, node, HOST, receiver=base, receiver_node=func.value, arguments=args, passes=False).value
    if name == "generate":
        return f.op(
            "module",
            node,
            Value(kind=Kind.TENSOR, graph=Fact.NO, dtype="int"),
            receiver=base,
            arguments=args,
            passes=False,
        ).value
    if name in PASSES or name in CODES and any(map(_is_tensor, args)):
        return _finish(f, node, base, args, _external_result(f, base, args))
    return None


def _add(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value:
    """`layers.append(Block())`: a list of modules, and what it holds from then on."""
    name = func.attr.value
    given = args[ADDING[name]] if ADDING[name] < len(args) else None
    for holder in holders_of(f, func.value, base) if given is not None else ():
        if given is not None:
            how = "extend" if name == "extend" else "append"
            f.store(holder, node, given.value, given.node, how, path=dotted(func.value))
    return base


def _is_tensor(argument: Argument) -> bool:
    value = argument.value
    moved = bool(value.defs) and all(op.name.startswith("torch.") for op in value.defs)
    return value.kind is Kind.TENSOR or value.kind is Kind.UNKNOWN and moved


def _entries(f: Frame, node: cst.Call, name: str, base: Value) -> Value:
    """What `items()` and `values()` of an nn.ModuleDict give: its modules, alone or with their names."""
    if name == "keys":
        return HOST
    member = module_in(f, base)
    pair = Value(kind=Kind.CONTAINER, graph=Fact.NO, elements=(HOST, member), name="tuple")
    entries = Value(kind=Kind.CONTAINER, graph=Fact.NO, elements=(pair if name == "items" else member,))
    return f.op("read", node, entries, receiver=base).value


def _members_of(name: str, op: Op) -> tuple[Value, ...] | None:
    """What `parameters()` and `named_parameters()` give: tensors, alone or with their names."""
    weight = Value(kind=Kind.TENSOR, graph=Fact.NO, defs=(op,))
    if name == "parameters":
        return (weight,)
    if name == "named_parameters":
        return (Value(kind=Kind.CONTAINER, graph=Fact.NO, elements=(HOST, weight), name="tuple"),)
    return None


def _root(node: cst.BaseExpression) -> cst.BaseExpression:
    """`model` in `model.eval().requires_grad_(False)`: where a chain of methods that give the module itself starts."""
    while type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value in SELF:
        node = node.func.value
    return node


def _itself(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value:
    name, path = func.attr.value, dotted(_root(func.value))
    value = base
    if name == "requires_grad_":
        off = bool(args) and args[0].value.const is False
        value = replace(base, trainable=Fact.NO if off else Fact.YES)
        if off and path is not None:
            f.frozen.add(path)
        if path is not None:
            f.bind(path, value)
    op = f.op(name, node, value, receiver=base, receiver_node=func.value, arguments=args, path=path)
    return replace(value, defs=(op,))
