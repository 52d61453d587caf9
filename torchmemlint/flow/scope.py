"""What a name refers to that the function itself did not bind: constants, builtins, module level, imports."""

from __future__ import annotations

import builtins

import libcst as cst

from torchmemlint.flow.frame import Frame
from torchmemlint.flow.holders import load
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Value, replace

CONSTANTS = {"True": replace(HOST, const=True), "False": replace(HOST, const=False), "None": HOST}
BUILTINS = frozenset(dir(builtins))


def lookup(f: Frame, node: cst.Name) -> Value:
    """The value of a name that is not bound in the function."""
    name = node.value
    constant = CONSTANTS.get(name)
    if constant is not None:
        return constant
    index = f.unit.index
    if name in index.assigned and name in index.imports and f.info.name:
        return load(f, name, node).value  # `import model`, then `model = model.Net()`
    if name in index.globals or name in index.imports or index.stars:
        value = f.program.global_value(index, name)
        if value.kind is not Kind.UNKNOWN:
            return value
        if name in index.globals and f.info.name:
            return load(f, name, node).value
    if name in BUILTINS:
        return Value(kind=Kind.EXTERNAL, graph=Fact.NO, name=name)
    return UNKNOWN
