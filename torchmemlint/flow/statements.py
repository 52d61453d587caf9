"""Statements: how each changes the state. One small function a node type, found through a table."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchmemlint.flow import bindings
from torchmemlint.flow.contexts import enter, leave
from torchmemlint.flow.dispatch import STATEMENTS, evaluate, nested, run
from torchmemlint.flow.exceptions import Handler
from torchmemlint.flow.frame import Frame, State, dotted, merge
from torchmemlint.flow.graph import Sink
from torchmemlint.flow.holders import element_of
from torchmemlint.flow.lean import walk
from torchmemlint.flow.tested import decided, matched, narrow, no_tensors, passed_by
from torchmemlint.flow.values import HOST, Fact, Kind, Value, replace


def _line(f: Frame, node: cst.SimpleStatementLine) -> None:
    run(f, node.body)


def _expression(f: Frame, node: cst.Expr) -> None:
    evaluate(f, node.value)


def _assign(f: Frame, node: cst.Assign) -> None:
    value = evaluate(f, node.value)
    for target in node.targets:
        bindings.assign(f, target.target, value, node.value)


def _annotated(f: Frame, node: cst.AnnAssign) -> None:
    hint = f.program.annotation(f.unit.index, f.unit.code(node.annotation.annotation))
    if node.value is not None:
        value = evaluate(f, node.value)
        if value.kind is Kind.UNKNOWN and hint.kind is not Kind.UNKNOWN:
            value = replace(value, kind=hint.kind, name=hint.name)
        bindings.assign(f, node.target, value, node.value)


def _augmented(f: Frame, node: cst.AugAssign) -> None:
    bindings.augment(f, node)


def _return(f: Frame, node: cst.Return) -> None:
    value = evaluate(f, node.value) if node.value is not None else HOST
    f.op("return", node, value, inputs=[value], sunk=[Sink.RETURNED] if f.depth == 0 else ())
    f.returns.append(value)
    f.state.alive = False


def _raise(f: Frame, node: cst.Raise) -> None:
    if node.exc is not None:
        evaluate(f, node.exc)
    f.state.alive = False


def _leave_loop(f: Frame, _: cst.CSTNode) -> None:
    if f.exits:
        f.exits[-1].append(f.state.fork())
    f.state.alive = False


def _delete(f: Frame, node: cst.Del) -> None:
    elements = node.target.elements if type(node.target) is cst.Tuple else [node.target]
    for element in elements:
        target = element.value if type(element) is cst.Element else element
        path = dotted(target)
        if path is not None:
            f.op("del", node if len(elements) == 1 else target, HOST, path=path)
            f.forget(path)
        elif type(target) is cst.Subscript:
            f.op("delitem", target, HOST, path=dotted(target.value))


def _if(f: Frame, node: cst.If) -> None:
    switched = type(node.test) is cst.Name and node.test.value == "True"  # what is switched off by hand never runs
    known = True if switched else decided(f, node.test)
    if known is not None:
        _arm(f, node.body if known else node.orelse)
        return
    evaluate(f, node.test)
    ends = []
    start = f.state
    f.state = start.fork()
    before = f.rounds.get(id(node)) if f.loops else None
    _carry(f, before, 0)
    narrow(f, node.test, True)
    _arm(f, node.body)
    ends.append(f.state)
    f.state = start.fork()
    _carry(f, before, 1)
    narrow(f, node.test, False)
    _arm(f, node.orelse)
    ends.append(f.state)
    f.state = merge(ends)
    if f.loops and before is None and node.orelse is not None and _is_setting(f, node.test):
        f.rounds[id(node)] = (ends[0], ends[1], f.state)


def _arm(f: Frame, node: cst.BaseSuite | cst.If | cst.Else | None) -> None:
    if node is None:
        return
    with f.arm(node):
        if type(node) is cst.If:
            _if(f, node)
        else:
            run(f, node.body)


def _is_setting(f: Frame, test: cst.BaseExpression) -> bool:
    """Does the test ask only what the caller set for the whole call: parameters that nothing binds anew?"""
    names = {n.value for n in walk(test) if type(n) is cst.Name} - {"None", "True", "False"}
    settings = {p.name for p in f.info.parameters} - {op.path for op in f.ops if op.name == "bind"}
    return bool(names) and f.depth == 0 and names <= settings


def _carry(f: Frame, before: tuple[State, State, State] | None, arm: int) -> None:
    """In a later round of a loop an arm that is always taken, or never, meets what it made itself in the round before,
    not what the other arm made."""
    if before is None or not before[arm].alive:
        return
    made, merged = before[arm].env, before[2].env
    for path, value in f.state.env.items():
        if merged.get(path) is value and path in made:
            f.state.env[path] = made[path]


def _loop(f: Frame, node: cst.For | cst.While, head: Callable[[], None]) -> None:
    """Interpret the body twice, so that what is carried into the next iteration is seen; one iteration at least."""
    outer = f.loops
    f.loops = (*outer, f.number(node))
    settled = f.settled
    for round_ in range(1 if settled else 2):
        f.settled = settled or round_ == 1
        f.exits.append([])
        mode = f.state.mode
        head()
        run(f, node.body)
        exits = f.exits.pop()
        for state in exits:
            state.mode = f.state.mode if f.state.alive else mode  # a `with` inside the loop is left on the way out
        f.state = merge([f.state, *exits])
        f.state.alive = True
    f.loops, f.settled = outer, settled
    if node.orelse is not None:
        run(f, node.orelse.body)


def _for(f: Frame, node: cst.For) -> None:
    iterable = evaluate(f, node.iter)
    _loop(f, node, lambda: bindings.assign(f, node.target, element_of(f, node.iter, iterable), node.iter))


def _while(f: Frame, node: cst.While) -> None:
    def test() -> None:
        evaluate(f, node.test)

    _loop(f, node, test)


def _try(f: Frame, node: cst.Try | cst.TryStar) -> None:
    start = f.state.fork()
    outer = f.attempts
    f.attempts = (*outer, f.number(node))
    run(f, node.body)
    f.attempts = outer
    ends = [f.state]
    if node.orelse is not None:
        run(f, node.orelse.body)
    for handler in node.handlers:
        f.state = merge([start.fork(), State(dict(ends[0].env), start.mode)])
        ends.append(_handler(f, node, handler))
    f.state = merge(ends)
    if node.finalbody is not None:
        alive, f.state.alive = f.state.alive, True
        run(f, node.finalbody.body)
        f.state.alive = f.state.alive and alive


def _handler(f: Frame, node: cst.Try | cst.TryStar, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> State:
    outer, attempt = f.handlers, f.number(node)
    caught = f.unit.code(handler.type) if handler.type is not None else "BaseException"
    f.handlers = (*outer, Handler(handler, caught, attempt, f.unit.code(handler)))
    if handler.name is not None:
        error = f.op("exception", handler, Value(graph=Fact.NO, name="exception"))
        bindings.assign(f, handler.name.name, error.value, None)
    no_tensors(f, node, handler)
    with f.arm(handler):
        run(f, handler.body)
    f.handlers = outer
    return f.state


def _with(f: Frame, node: cst.With) -> None:
    mode = f.state.mode
    for item in node.items:
        value = enter(f, item.item)
        if item.asname is not None:
            bindings.assign(f, item.asname.name, value, item.item)
    run(f, node.body)
    leave(f, mode)


def _match(f: Frame, node: cst.Match) -> None:
    evaluate(f, node.subject)
    start, ends = f.state, [f.state.fork()]
    for case in node.cases:
        f.state = start.fork()
        matched(f, node.subject, case)
        with f.arm(case):
            run(f, case.body)
        ends.append(f.state)
        f.state = start
        passed_by(f, node.subject, case)
    f.state = merge(ends)


def _function(f: Frame, node: cst.FunctionDef) -> None:
    """A nested function; the module's own are known through the index."""
    if f.depth == 0 and not f.info.name:
        return
    f.bind(node.name.value, nested(f, node))


def _class(f: Frame, node: cst.ClassDef) -> None:
    """A local class is opaque; the module's classes are known through the index, their class-level names run here."""
    if f.depth == 0 and not f.info.name:
        outer, f.state = f.state, f.state.fork()
        f.state.env = {}
        for statement in node.body.body:
            if not isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                run(f, [statement])
        f.classes[node.name.value] = f.state.env
        f.state = outer
        return
    f.bind(node.name.value, f.op("class", node, Value(kind=Kind.UNKNOWN, graph=Fact.NO)).value)


def _scope(f: Frame, node: cst.Global | cst.Nonlocal) -> None:
    f.shared = f.shared | {item.name.value for item in node.names}


def _assert(f: Frame, node: cst.Assert) -> None:
    evaluate(f, node.test)


STATEMENTS |= {
    cst.SimpleStatementLine: _line,
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Break: _leave_loop,
    cst.Continue: _leave_loop,
    cst.Del: _delete,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Match: _match,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.Global: _scope,
    cst.Nonlocal: _scope,
    cst.Assert: _assert,
}
