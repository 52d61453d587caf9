"""Calls of the project's own functions, methods and classes, through summaries; nested functions run in place."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import libcst as cst

from torchmemlint.flow import holders
from torchmemlint.flow.arguments import bound_values, left_over
from torchmemlint.flow.backward import free
from torchmemlint.flow.conditions import UNSET, constant
from torchmemlint.flow.contexts import apply_effect
from torchmemlint.flow.custom import is_custom
from torchmemlint.flow.dispatch import evaluate, invoke, run, unknown
from torchmemlint.flow.fields import as_operations, rebound, renewed, with_fields
from torchmemlint.flow.frame import INLINE_DEPTH, Closure, Frame, dotted
from torchmemlint.flow.graph import Argument, Mode, Op, proven
from torchmemlint.flow.handed import mixed_members
from torchmemlint.flow.holders import holders_of, outliving
from torchmemlint.flow.preparing import prepared
from torchmemlint.flow.summary import LOCAL_ENDS, Callback, Kept, Settings, Summary
from torchmemlint.flow.types import is_property
from torchmemlint.flow.values import (
    HOST,
    UNKNOWN,
    Fact,
    Kind,
    Value,
    alternatives,
    join,
    mapped,
    replace,
    united,
)
from torchmemlint.index.model import FunctionInfo


def function(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    """Call a FUNCTION value: a nested one in place, a project one through its summary."""
    if callee.name is not None and callee.name.startswith("method:") and isinstance(callee.elements, tuple):
        return holders.bound_method(f, node, callee.name.removeprefix("method:"), callee.elements[0], args)
    closure = f.closures.get(callee.const) if callee.const is not None else None
    if closure is not None:
        return _inline(f, node, closure, args)
    info = f.program.function(callee.name)
    if info is None:
        choices = alternatives(callee)
        return _any(f, node, choices, args) if len(choices) > 1 else unknown(f, node, args, callee)
    return call_function(f, node, info, args, callee.elements[0] if isinstance(callee.elements, tuple) else None)


def _any(f: Frame, node: cst.Call, choices: Sequence[Value], args: list[Argument]) -> Value:
    """Call one of several functions, whichever a branch has chosen: an operation for each."""
    outer, results = f.choice, []
    for number, choice in enumerate(choices):
        f.choice = f"{outer}|{number}"
        results.append(invoke(f, node, choice, args))
    f.choice = outer
    return functools.reduce(join, results)


def call_function(f: Frame, node: cst.Call, info: FunctionInfo, args: list[Argument], receiver: Value | None) -> Value:
    """Call a project function; with a receiver for a bound method."""
    if prepared(f, node, info, args, receiver):
        return HOST
    known = f.program.sole_override(info) if f.program.is_abstract(info) else info
    value = applied(f, node, known, args, receiver) if known is not None else None
    return value if value is not None else _unsummarised(f, node, info, args, receiver)


def _unsummarised(f: Frame, node: cst.Call, info: FunctionInfo, args: list[Argument], receiver: Value | None) -> Value:
    """A project function without a summary (recursion, an abstract method): unknown, but known to be called here."""
    value = unknown(f, node, args, receiver)
    for op in value.defs:
        op.callee, op.target = info.id, info.path
    return value


def method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    """A method of an object of a project class."""
    info = f.program.method(base.name, func.attr.value)
    if info is None or is_property(info):
        return None  # what a property gives is called as any other value
    return call_function(f, node, info, args, base)


def class_method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    """`Class.method(...)`: alternative constructors of modules give modules; `Function.apply` passes the graph."""
    name = func.attr.value
    info = f.program.method(base.name, name)
    if info is not None:
        bound = base if "classmethod" in info.decorators else None
        return call_function(f, node, info, args, bound)
    if name == "apply":
        return _applied(f, node, base, args)
    if name.startswith("from_") and f.program.is_module(base.name) is Fact.YES:
        return Value(kind=Kind.MODULE, graph=Fact.NO, name=base.name, trainable=Fact.YES)
    return None


def instance(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    """Call an object of a project class: its `__call__`, or the operator that a Function was before it had `apply`."""
    info = f.program.method(callee.name, "__call__")
    if info is not None:
        return call_function(f, node, info, args, callee)
    owner = f.program.class_(callee.name)
    if owner is not None and is_custom(f.program.project, owner):
        return _applied(f, node, callee, args)
    return unknown(f, node, args, callee)


def _applied(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    return f.op("custom", node, f.tensor([a.value for a in args]), arguments=args, callee=callee.name).value


def receiver_node(node: cst.Call, called: str = "") -> cst.BaseExpression:
    """The expression a method is called on; the callee itself for a plain call, and for an object's `__call__`."""
    if called == "__call__" and dotted(node.func) is not None and not (dotted(node.func) or "").endswith(called):
        return node.func
    return node.func.value if type(node.func) is cst.Attribute else node.func


def applied(f: Frame, node: cst.Call, info: FunctionInfo, args: list[Argument], receiver: Value | None) -> Value | None:
    """The summary of `info` applied at this call, its effects included; None where there is no summary."""
    bound = bound_values(info, args, receiver, receiver_node(node, info.name))
    values = [b.value if b is not None else None for b in bound]
    summary = f.program.summary(info, values)
    settings = _settings(summary.flags, bound) if summary is not None else ()
    summary = f.program.summary(info, values, settings) if settings else summary
    if summary is None:
        return None
    passed = [(position, _argument(f, summary, position, b)) for position, b in enumerate(bound)]
    passed += [(position, _argument(f, summary, position, a)) for position, a in left_over(info, args, bound)]
    value = _result(f, summary, summary.value, bound)
    inputs = _called_back(f, node, summary, bound) if summary.callbacks else []
    into = {*summary.value.params, *_read_from(receiver, value)}
    inputs += [op.value for position, op in passed if op is not None and position in into]
    op = f.op("call", node, value, inputs=inputs, callee=info.id, path=dotted(node.func))
    op.arguments, op.receiver, op.target = tuple(args), receiver, info.path
    op.value = _owned(op.value, op)
    if summary.within and isinstance(op.value.elements, dict):
        op.value = replace(op.value, elements=as_operations(f, op, op.value.elements, summary.within))
    op.freed = (op,) if summary.spent else op.freed
    _walk(op, summary, bound)
    op.kept = tuple(
        (kept, _at(bound, kept.root), [a for p in sorted(kept.params) if (a := _kept_of(kept, p, bound)) is not None])
        for kept in summary.kept
    )
    _fill(f, node, op)
    _effects(f, summary, bound, receiver)
    _rebind(f, info, bound)
    return op.value


def _rebind(f: Frame, info: FunctionInfo, bound: list[Argument | None]) -> None:
    """Of objects made in sight forget the attributes that the callee looks to bind anew."""
    for parameter, given in zip(info.parameters, bound):
        path = dotted(given.node) if given is not None and given.value.kind is Kind.INSTANCE else None
        if given is None or path is None or not isinstance(given.value.elements, dict):
            continue
        names = rebound(f, info, parameter.name)
        if names is None:
            f.bind(path, replace(given.value, elements=None, graph=min(given.value.graph, Fact.MAYBE)))
        elif names & given.value.elements.keys():
            f.bind(path, renewed(given.value, dict.fromkeys(names, UNKNOWN)))


def _kept_of(kept: Kept, position: int, bound: list[Argument | None]) -> Argument | None:
    """The argument that the callee keeps; none where it goes over a container of which only some has a graph."""
    given = _at(bound, position)
    return None if given is not None and position in kept.apart and mixed_members(given.value) else given


def _walk(op: Op, summary: Summary, bound: list[Argument | None]) -> None:
    """End the graphs that the callee's backward walks; of an object that it is given, those of all attributes."""
    for position, given in enumerate(bound):
        known = given is not None and summary.backward and given.value.kind is Kind.INSTANCE
        for root in with_fields(given.value) if given is not None and (known or position in summary.walked) else ():
            if root.fact is not Fact.NO:
                free(op, root)


def _read_from(receiver: Value | None, value: Value) -> tuple[int, ...]:
    """What a method of a record gives may be made of what the record was made of."""
    reads = receiver is not None and receiver.kind is Kind.INSTANCE and _may_carry(receiver) and _may_carry(value)
    return (0,) if reads else ()


def _called_back(f: Frame, node: cst.Call, summary: Summary, bound: list[Argument | None]) -> list[Value]:
    """Run the nested functions that are given to a function which calls them: the results that it gives back."""
    returned = []
    for callback in summary.callbacks:
        given = _at(bound, callback.position)
        closure = f.closures.get(given.value.const) if given is not None and given.value.const is not None else None
        if closure is None or closure.calls > 8 or f.depth >= INLINE_DEPTH:
            continue
        result = _run_there(f, node, closure, callback)
        ends = callback.ends - LOCAL_ENDS
        if result.defs and ends:
            f.op("handed out", closure.node, HOST, inputs=[result], passes=False, sunk=ends)
        if result.defs and callback.ends & LOCAL_ENDS:
            returned.append(result)
    return returned


def _run_there(f: Frame, node: cst.Call, closure: Closure, callback: Callback) -> Value:
    """Run a nested function under the grad mode, and in a loop, as the function that is handed it does."""
    closure.calls += 1
    mode, loops = f.state.mode, f.loops
    f.state.mode = mode if callback.mode is Mode.ENTERED else callback.mode
    f.loops = (*loops, f.number(node)) if callback.repeated else loops
    result = run_nested(f, closure, closure.unset())
    f.state.mode, f.loops = mode, loops
    return result


def _settings(flags: Settings, bound: list[Argument | None]) -> Settings:
    """The constants that this call gives for flags of the callee, its defaults where it gives nothing."""
    given = ((p, constant(b.node) if (b := _at(bound, p)) is not None else default) for p, default in flags)
    return tuple((position, setting) for position, setting in given if setting is not UNSET)


def _fill(f: Frame, node: cst.Call, call: Op) -> None:
    """The callee put arguments into a container argument: the caller's container holds them now."""
    for kept, holder, values in call.kept:
        if holder is None or "." in kept.path:
            continue
        attached = kept.graph is Fact.YES and f.state.mode is not Mode.OFF
        own = Argument(None, Value(graph=Fact.YES, defs=(call,)), node)  # attached by the callee itself
        for root in holders_of(f, holder.node, holder.value):
            for argument in [own] if attached else values:
                f.store(
                    root, node, argument.value, argument.node, kept.how, path=dotted(holder.node), sunk=outliving(root)
                )


def _at(bound: list[Argument | None], position: int) -> Argument | None:
    return bound[position] if 0 <= position < len(bound) else None


def _owned(value: Value, op: Op) -> Value:
    """Members of a returned tuple or dict are made by the call too."""
    return mapped(value, lambda e: replace(_owned(e, op), defs=(op,)) if _may_carry(e) else e)


def _may_carry(value: Value) -> bool:
    """May it hold a graph? A list does by what was put into it since it was made."""
    if value.kind is Kind.CONTAINER:
        return True
    return value.kind is not Kind.HOST and (value.graph is not Fact.NO or bool(value.params))


def _argument(f: Frame, summary: Summary, position: int, bound: Argument | None) -> Op | None:
    """The pseudo-operation through which one argument enters the callee."""
    if bound is None or not bound.value.defs or position >= len(summary.parameter_sinks):
        return None
    sunk = summary.parameter_sinks[position]
    node = bound.node
    inputs = with_fields(bound.value)
    return f.op("argument", node, bound.value, inputs=inputs, sunk=sunk, callee=summary.function)


def _result(f: Frame, summary: Summary, value: Value, bound: list[Argument | None]) -> Value:
    """The callee's result with the arguments' facts put in; no graph under no_grad unless the callee enables it."""
    if f.state.mode is Mode.OFF and not summary.enables:
        graph, params = Fact.NO, frozenset[int]()
    else:
        operands = [bound[p].value for p in value.params if p < len(bound) and bound[p] is not None]  # type: ignore[union-attr]
        graph, params = value.graph, frozenset[int]()
        for operand in operands:
            own = Fact.YES if proven(operand) else operand.graph
            graph, params = graph.either(own), united(params, operand.params)
        if f.state.mode is Mode.UNKNOWN or summary.split:
            graph = min(graph, Fact.MAYBE)
    made = mapped(value, lambda e: _result(f, summary, e, bound))
    if value.given:
        given = tuple(Argument(a.name, _result(f, summary, a.value, bound), a.node) for a in value.given)
        made = replace(made, given=given)
    return replace(made, graph=graph, params=params, defs=(), shares=())


def _effects(f: Frame, summary: Summary, bound: list[Argument | None], receiver: Value | None) -> None:
    """Frozen modules, switched grad mode, attributes of the receiver that the method rebinds, parameters it calls."""
    for position in summary.unsettled:
        given = bound[position] if position < len(bound) else None
        path = dotted(given.node) if given is not None and given.value.kind is Kind.UNKNOWN else None
        if path is not None:
            f.unsettled.add(path)  # the callee calls it: a caller of ours may tell what it is
    for position in summary.frozen:
        argument = bound[position] if position < len(bound) else None
        path = dotted(argument.node) if argument is not None else None
        if path is not None:
            f.frozen.add(path)
            known = f.read(path)
            if known is not None:
                f.bind(path, replace(known, trainable=Fact.NO))
    if summary.exit_mode is not Mode.ENTERED:
        f.state.mode = summary.exit_mode
    if receiver is not None:
        for written in summary.written:
            f.state.env.pop(written, None)


def _inline(f: Frame, node: cst.Call, closure: Closure, args: list[Argument]) -> Value:
    """Run a nested function or lambda in place, with the enclosing names in view."""
    closure.calls += 1
    if f.depth >= INLINE_DEPTH or closure.calls > 8:
        return unknown(f, node, args)
    params = closure.node.params
    names = [p.name.value for p in (*params.posonly_params, *params.params)]
    keywords = {a.name: a.value for a in args if a.name and a.name not in ("*", "**")}
    values = closure.unset() | dict(zip(names, (a.value for a in args if a.name is None))) | keywords
    return run_nested(f, closure, values)


def run_nested(f: Frame, closure: Closure, values: dict[str, Value]) -> Value:
    """Interpret a nested function's body with its parameters bound; gives the joined result."""
    outer, returns, exits, shared = f.state, f.returns, f.exits, f.shared
    f.state, f.returns, f.exits, f.depth = outer.fork(), [], [], f.depth + 1
    before = dict(outer.env)
    f.state.env.update(values)
    for decorator in getattr(closure.node, "decorators", ()):
        value = evaluate(f, decorator.decorator)
        if value.name == "context":
            apply_effect(f, value)
    if isinstance(closure.node, cst.Lambda):
        result = evaluate(f, closure.node.body)
    else:
        run(f, closure.node.body)
        result = f.returns[0] if f.returns else HOST
        for other in f.returns[1:]:
            result = join(result, other)
    names = f.shared - shared
    for name in names:
        if name in f.state.env:
            outer.env[name] = f.state.env[name]
    for path, value in f.state.env.items():
        if "." in path and before.get(path) is not value:
            outer.env[path] = value
    f.state, f.returns, f.exits, f.shared, f.depth = outer, returns, exits, shared, f.depth - 1
    return result
