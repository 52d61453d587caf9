"""Calls: who is called, and what the call does to values, holders and grad mode."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow import (
    distributions,
    expressions,
    externals,
    holders,
    modules,
    objects,
    project_calls,
    tensors,
    threads,
)
from torchmemlint.flow.backward import backward_call
from torchmemlint.flow.contexts import apply_effect
from torchmemlint.flow.dispatch import EXPRESSIONS, INVOKE, evaluate, invoke, unknown
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.graph import Argument, Mode, Sink, closure
from torchmemlint.flow.hooks import REGISTERS
from torchmemlint.flow.values import HOST, Fact, Kind, Value, replace

MODULE_EVIDENCE = frozenset(
    "eval train parameters named_parameters modules named_modules children register_forward_hook half".split()
)
AMBIVALENT = frozenset("to cuda cpu half float double bfloat16 type".split())  # tensors and modules have them
CALLABLE = frozenset({Kind.EXTERNAL, Kind.FUNCTION, Kind.CLASS, Kind.MODULE, Kind.INSTANCE})
OWN_EVIDENCE = frozenset("eval parameters named_parameters modules named_modules children named_children".split())
OF_ONE = frozenset("append appendleft extend extendleft add".split())  # a container's take one argument
LISTING = frozenset({"items", "keys", "values"})
SHAPES = frozenset({"size", "dim", "numel", "nelement", "ndimension"})  # numbers, whoever gives them
SHARED_EVIDENCE = {"to": "moved", "cuda": "moved", "cpu": "moved", "state_dict": "saved", "load_state_dict": "saved"}
"""Methods that tensors or optimizers have as well: two of these uses, or one and a call, only a module has."""
OPTIMIZER_EVIDENCE = frozenset({"step", "zero_grad", "param_groups"})


def call(f: Frame, node: cst.Call) -> Value:
    """The value of a call expression."""
    func = node.func
    if type(func) is not cst.Attribute:
        callee = evaluate(f, func)
        return invoke(f, node, callee, arguments(f, node))
    path = dotted(func)
    bound = f.read(path) if path is not None else None
    if bound is not None and bound.kind in CALLABLE:
        return invoke(f, node, bound, arguments(f, node))
    base = evaluate(f, func.value)
    if base.kind is Kind.EXTERNAL and base.const is None:
        callee = f.program.member(f.unit.index, base.name or "", func.attr.value)
        return invoke(f, node, callee, arguments(f, node))
    return method(f, node, func, base, arguments(f, node))


def arguments(f: Frame, node: cst.Call) -> list[Argument]:
    """The evaluated arguments in order."""
    return [
        Argument(a.keyword.value if a.keyword is not None else a.star or None, _given(f, a.value), a.value)
        for a in node.args
    ]


def _given(f: Frame, node: cst.BaseExpression) -> Value:
    """An argument's value: a parameter that other uses prove to be a module is handed on as one."""
    value = evaluate(f, node)
    if value.kind is not Kind.UNKNOWN or type(node) is not cst.Name:
        return value
    if f.evidence.get(node.value) is not Kind.MODULE or any(op.name != "param" for op in value.defs):
        return value
    trainable = Fact.NO if node.value in f.frozen or _frozen(value) else Fact.YES
    return replace(value, kind=Kind.MODULE, trainable=trainable, graph=Fact.NO, params=frozenset())


def _unproven(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    """Call a value of unknown kind: a module where other uses of its path prove it one."""
    path = dotted(node.func)
    proven = path is not None and f.evidence.get(path) is Kind.MODULE
    if proven or callee.name == "checkpoint":  # a loaded object that is called is a module
        trainable = Fact.NO if path in f.frozen or _frozen(callee) else Fact.YES
        return modules.forward(f, node, replace(callee, kind=Kind.MODULE, name=None, trainable=trainable), args)
    if path is not None:
        f.unsettled.update({path, *_bound_from(callee)})
        _use(f, path, "called")
    return unknown(f, node, args, callee)


def _bound_from(callee: Value) -> set[str]:
    """`model` for `encode = model.encode`: what a caller may tell of."""
    loaded = [op.path for op in callee.defs if op.name == "load" and op.path is not None]
    return {path.partition(".")[0] for path in loaded if path.count(".") == 1}


def method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value:
    """A method call on a value."""
    name = func.attr.value
    consumed = backward_call(f, node, func, base, args)
    if consumed is not None:
        return consumed
    _witness(f, func, base, args)
    if name in REGISTERS and not f.program.is_project_method(base, name) and base.kind is not Kind.TENSOR:
        return f.op(
            "register_hook",
            node,
            Value(graph=Fact.NO, name="handle"),
            receiver=base,
            receiver_node=func.value,
            arguments=args,
            passes=False,
            callee=name,
        ).value
    handler = METHODS.get(base.kind)
    result = handler(f, node, func, base, args) if handler is not None else None
    if result is not None:
        return result
    if base.kind is Kind.HOST:
        return _host_method(f, node, base, args)
    if name == "enter_context" and args and args[0].value.name == "context":
        apply_effect(f, args[0].value)
        return HOST
    if name in ("__enter__", "__exit__") and base.name == "context":  # by hand
        if name == "__enter__":
            f.by_hand[base.defs] = f.state.mode
            apply_effect(f, base)
        else:
            f.state.mode = f.by_hand.pop(base.defs, Mode.UNKNOWN)
        return f.op("enter", node, HOST, receiver=base, passes=False).value
    if base.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS):
        value = expressions.attribute_of(f, func, base, dotted(func))
        if value.kind in CALLABLE:
            return invoke(f, node, value, args)
        path = dotted(func)
        if path is not None and f.evidence.get(path) is Kind.MODULE:
            return invoke(f, node, replace(value, kind=Kind.MODULE, trainable=Fact.YES), args)
        if path is not None:
            f.unsettled.add(path)
            if value.kind is Kind.UNKNOWN:
                _use(f, path, "called")
        return unknown(f, node, args, value)
    told = distributions.method(f, node, name, base, args) if distributions.is_one(base.name) else None
    return told if told is not None else _unknown_method(f, node, func, base, args)


def _witness(f: Frame, func: cst.Attribute, base: Value, args: list[Argument]) -> None:
    """A method's name proves the kind of an unknown receiver; an `eval` that is given something is no module's."""
    if base.kind is not Kind.UNKNOWN or func.attr.value == "eval" and args:
        return
    receiver = _behind(func.value)
    path = dotted(receiver)
    if path is None:
        return
    if func.attr.value in MODULE_EVIDENCE:
        f.evidence[path] = Kind.MODULE
        if receiver is not func.value:
            f.unsettled.add(path)  # what the call before gave is known only in a second run
    elif func.attr.value in OPTIMIZER_EVIDENCE:
        f.evidence.setdefault(path, Kind.OPTIMIZER)
    elif func.attr.value in SHARED_EVIDENCE:
        _use(f, path, SHARED_EVIDENCE[func.attr.value])


def _use(f: Frame, path: str, use: str) -> None:
    """An object that is called and moved, or moved and saved, is a module."""
    uses = f.uses.setdefault(path, set())
    uses.add(use)
    if len(uses) > 1:
        f.evidence.setdefault(path, Kind.MODULE)
        f.unsettled.add(path)


def _behind(node: cst.BaseExpression) -> cst.BaseExpression:
    """`net` for `net.to(device).half()`: methods that give the module itself."""
    while type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value in modules.SELF:
        node = node.func.value
    return node


def _host_method(f: Frame, node: cst.Call, base: Value, args: list[Argument]) -> Value:
    if base.defs or any(a.value.defs for a in args):
        f.op("host", node, HOST, receiver=base, arguments=args, passes=False, sunk=[Sink.HOST])
    return HOST


def _unknown_method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value:
    """A method of an unknown object: a tensor's where only tensors have it, a container's where it stores."""
    name = func.attr.value
    path = dotted(func.value)
    proven = f.evidence.get(path) if path is not None else None
    if path is None and name in OWN_EVIDENCE and not args:
        proven = Kind.MODULE  # `vgg19().features[:9].eval()`
    if proven is Kind.MODULE:
        module = replace(base, kind=Kind.MODULE, trainable=Fact.NO if _frozen(base) else Fact.YES)
        result = modules.method(f, node, func, module, args)
        if result is None and path is not None:
            f.unsettled.add(path)  # a method of the project's class, should a caller tell which
        return result or _opaque(f, node, func, base, args)
    if proven is Kind.OPTIMIZER and name in OPTIMIZER_EVIDENCE:
        return _optimizer_method(f, node, func, base, args) or HOST
    if name in AMBIVALENT:
        value = replace(base, device="cpu" if name == "cpu" else tensors.device_of(args) or base.device)
        return f.op(f"torch.{name}", node, value, receiver=base, receiver_node=func.value, arguments=args).value
    surely = base.graph is Fact.YES and knowledge.tensor_method(name) and name not in ("get", "values", "index")
    if surely or tensors.distinctive(name, len(args)) or knowledge.tensor_method(name) and _names_dimensions(args):
        tensor = replace(base, kind=Kind.TENSOR)
        return tensors.method(f, node, func, tensor, args) or _opaque(f, node, func, base, args)
    fact = knowledge.container_method(name)
    if name in OF_ONE and len(args) != 1:
        fact = None  # a meter's, a buffer's: `metric.add(loss, count)`
    if fact is not None and fact.stores is not None and (not fact.reads or name == "setdefault") and name != "update":
        result = holders.method(f, node, func, holders.unknown_holder(base), args)
        return result if result is not None else HOST
    if knowledge.detaching_call(name):
        return externals.to_host(f, node, args)
    return _opaque(f, node, func, base, args)


def _frozen(value: Value) -> bool:
    """Is it an object, or a copy of one, on which `requires_grad_(False)` was called before it proved a module?"""
    made = closure(value.defs, lambda o: o.inputs if o.name in ("copy", "bind", "torch.to", "torch.cuda") else (), 20)
    return any(op.name == "torch.requires_grad_" and op.value.graph is Fact.NO for op in made)


def _names_dimensions(args: list[Argument]) -> bool:
    """`x.mean(dim=1)`, `x.max(1, keepdim=True)`: arrays and frames call it an axis; labelled arrays name it by text."""
    return any(a.name in ("dim", "keepdim") and not isinstance(a.value.const, str) for a in args)


def _opaque(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value:
    """A method of an object of which nothing is known; of a parameter a caller may tell."""
    name = func.value.value if type(func.value) is cst.Name else None
    given = name is not None and any(op.name == "param" for op in base.defs)
    if name is not None and given and not f.program.only_of_tensors(func.attr.value, f.info.path):
        f.unsettled.add(name)
    graph, params = f.derived([base, *(a.value for a in args)])
    reads = func.attr.value in tensors.AMBIGUOUS or func.attr.value in LISTING and not args
    sunk = [] if reads else [Sink.UNKNOWN_CALL]  # arrays and tensors compute, mappings list what they hold, no more
    value = HOST if func.attr.value in SHAPES else threads.method(f, node, func.attr.value, base, args)
    op = f.op(
        "?call",
        node,
        value or Value(graph=graph if reads and params else min(graph, Fact.MAYBE), params=params),
        receiver=base,
        receiver_node=func.value,
        arguments=args,
        sunk=sunk,
        callee=f"?.{func.attr.value}",
        path=dotted(func.value),
    )
    return op.value


def _optimizer_method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    name = func.attr.value
    own = name == "step" and any(a.value.kind is Kind.TENSOR or a.value.graph is not Fact.NO for a in args)
    if name == "step" and args and args[0].value.const in f.closures:
        invoke(f, node, args[0].value, [])  # `optimizer.step(closure)` runs it
    return f.op(
        name,
        node,
        HOST,
        receiver=base,
        receiver_node=func.value,
        arguments=args,
        passes=False,
        sunk=[Sink.UNKNOWN_CALL] if own else [],  # no optimizer of torch: it runs the backward of the loss that it gets
    ).value


def _scaler_method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    if func.attr.value == "scale" and args:
        return f.op("arith", node, f.tensor([args[0].value], scalar=Fact.YES), arguments=args).value
    return f.op(func.attr.value, node, HOST, receiver=base, arguments=args, passes=False).value


Method = Callable[[Frame, cst.Call, cst.Attribute, Value, list[Argument]], "Value | None"]
METHODS: dict[Kind, Method] = {
    Kind.TENSOR: tensors.method,
    Kind.CONTAINER: holders.method,
    Kind.MODULE: modules.method,
    Kind.INSTANCE: project_calls.method,
    Kind.CLASS: project_calls.class_method,
    Kind.OPTIMIZER: _optimizer_method,
    Kind.SCALER: _scaler_method,
}
externals.SPECIAL |= dict.fromkeys(
    ("dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve"), objects.replaced
)
INVOKE |= {
    Kind.EXTERNAL: externals.call,
    Kind.FUNCTION: project_calls.function,
    Kind.CLASS: objects.construct,
    Kind.MODULE: modules.forward,
    Kind.INSTANCE: project_calls.instance,
    Kind.UNKNOWN: _unproven,
}
EXPRESSIONS[cst.Call] = call
