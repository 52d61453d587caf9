"""Small operator graphs: what an operation computes, what its operands are, who alone reads its result."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op
from torchmemlint.flow.lean import same_code
from torchmemlint.flow.values import Kind, Value

SIGNS: dict[type, str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.Power: "**",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.PowerAssign: "**",
}
COMPARISONS: dict[type, str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.GreaterThan: ">",
    cst.LessThan: "<",
    cst.GreaterThanEqual: ">=",
    cst.LessThanEqual: "<=",
}
METHOD_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "true_divide": "/",
    "pow": "**",
    "multiply": "*",
    "subtract": "-",
    "divide": "/",
    "add_": "+",
    "sub_": "-",
    "mul_": "*",
    "div_": "/",
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow}
MAX_POWER = 64
FUNCTIONS = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp}


def bare(op: Op) -> str:
    """The operator's bare name ("matmul"), also of a method that only tensors have on an unknown object; else ""."""
    if op.name.startswith("torch."):
        return op.name[len("torch.") :]
    if op.name == "?call" and op.callee is not None and op.callee.startswith("?."):
        name = op.callee[2:]
        return name if knowledge.tensor_method(name) else ""
    return ""


def maker(value: Value) -> Op | None:
    """The one operation that made the value; None where branches gave several."""
    return value.defs[0] if len(value.defs) == 1 else None


def operands(op: Op) -> list[Value]:
    """Receiver and arguments in order, keywords last."""
    first = [op.receiver] if op.receiver is not None else []
    plain = [a.value for a in op.arguments if a.name is None]
    return [*first, *plain, *(a.value for a in op.arguments if a.name is not None)]


def nodes(op: Op) -> list[cst.BaseExpression]:
    """The nodes of `operands`."""
    first = [op.receiver_node] if op.receiver is not None and op.receiver_node is not None else []
    return [*first, *(a.node for a in op.arguments)]


def sign(op: Op) -> str:
    """The arithmetic that an operation does: "+", "-", "*", "/", "**", "&", "|", "neg", "~"; "" for anything else."""
    if op.name != "arith":
        return METHOD_SIGNS.get(bare(op), "")
    if type(op.node) is cst.UnaryOperation:
        return {cst.Minus: "neg", cst.BitInvert: "~"}.get(type(op.node.operator), "")
    return SIGNS.get(type(getattr(op.node, "operator", None)), "")


def comparison(op: Op) -> str:
    """The sign of a comparison with two sides, else ""."""
    if type(op.node) is not cst.Comparison or len(op.node.comparisons) != 1:
        return ""
    return COMPARISONS.get(type(op.node.comparisons[0].operator), "")


def sides(op: Op) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two expressions of a comparison."""
    if type(op.node) is not cst.Comparison or len(op.node.comparisons) != 1:
        return None
    return op.node.left, op.node.comparisons[0].comparator


def alone(op: Op) -> bool:
    """Is the operation a statement of its own?"""
    return type(op.statement) is cst.Expr and op.statement.value is op.node


def in_place(op: Op) -> bool:
    """Does the operation write its receiver?"""
    return bare(op).endswith("_") or type(op.node) is cst.AugAssign or op.name in ("torch.setitem", "write")


def number(node: cst.CSTNode | None) -> int | float | None:
    """The value of an expression made of literals, `math` functions and arithmetic; None: not one."""
    if type(node) is cst.Integer:
        return int(node.value.replace("_", ""), 0) if len(node.value) < 20 else None
    if type(node) is cst.Float:
        return float(node.value.replace("_", ""))
    if type(node) is cst.UnaryOperation and type(node.operator) is cst.Minus:
        inner = number(node.expression)
        return -inner if inner is not None else None
    if type(node) is cst.Attribute:
        return {"math.pi": math.pi, "np.pi": math.pi, "torch.pi": math.pi}.get(dotted(node) or "")
    if type(node) is cst.Call:
        return _called(node)
    return _computed(node) if type(node) is cst.BinaryOperation else None


def _called(node: cst.Call) -> float | None:
    name = (dotted(node.func) or "").rpartition(".")[2]
    given = number(node.args[0].value) if len(node.args) == 1 else None
    if name not in FUNCTIONS or given is None or given <= 0:
        return None
    return FUNCTIONS[name](given)


def _computed(node: cst.BinaryOperation) -> int | float | None:
    left, right = number(node.left), number(node.right)
    if left is None or right is None:
        return None
    compute = ARITHMETIC.get(SIGNS.get(type(node.operator), ""))
    if compute is None or (compute is operator.pow and abs(right) > MAX_POWER):
        return None
    try:
        found: int | float = compute(left, right)
    except ArithmeticError:
        return None
    return found if isinstance(found, (int, float)) else None


def close(node: cst.CSTNode | None, wanted: float) -> bool:
    """Is the expression this number, to four digits?"""
    found = number(node)
    return found is not None and abs(found - wanted) <= 1e-3 * abs(wanted)


def is_number(value: Value, node: cst.CSTNode | None = None) -> bool:
    """Is it a Python number, as far as is known?"""
    return value.kind is Kind.HOST or (node is not None and number(node) is not None)


def readers(op: Op) -> list[Op]:
    """Everything that reads the result, names aside."""
    return op.consumers


def only_reader(op: Op) -> Op | None:
    """The one operation that reads the result; None where there are several or none."""
    found = readers(op)
    return found[0] if len(found) == 1 else None


def through(op: Op, names: frozenset[str]) -> Op:
    """Follow the only readers as long as they are operators of `names`; the last operation on that way."""
    current = op
    for _ in range(10):
        following = only_reader(current)
        if following is None or bare(following) not in names:
            return current
        current = following
    return current


def back(value: Value, names: frozenset[str]) -> Op | None:
    """The maker of `value` before the operators of `names` (casts, views) that only pass it on."""
    op = maker(value)
    for _ in range(10):
        if op is None or bare(op) not in names or op.receiver is None:
            return op
        op = maker(op.receiver)
    return op


def is_module(op: Op, *names: str) -> bool:
    """Is it a call of a torch.nn module of one of these class names?"""
    return (
        op.name == "module"
        and op.callee is not None
        and op.callee.startswith("torch.nn.")
        and op.callee.rpartition(".")[2] in names
    )


def input_of(op: Op) -> Value | None:
    """The tensor that an operator or module works on."""
    if op.name == "module":
        first = op.argument(0, "input")
        return first.value if first is not None else None
    if op.receiver is not None:
        return op.receiver
    return next((a.value for a in op.arguments if a.name is None), None)


def dimension(op: Op, position: int = 0) -> int | None:
    """The literal `dim` of an operator; None where it is not given or not a literal."""
    argument = op.argument(position, "dim") or op.argument(None, "axis")
    found = number(argument.node) if argument is not None else None
    return found if isinstance(found, int) else None


def text_of(node: cst.CSTNode | None) -> str | None:
    """The value of a plain string literal."""
    return node.raw_value if type(node) is cst.SimpleString else None


def key_of(node: cst.CSTNode) -> str | None:
    """`"loss"` in `outputs["loss"]`."""
    index = node.slice[0].slice if type(node) is cst.Subscript and len(node.slice) == 1 else None
    return text_of(index.value) if type(index) is cst.Index else None


def flag(op: Op, name: str) -> bool | None:
    """The literal boolean keyword `name`; None where it is not given or not a literal."""
    argument = op.argument(None, name)
    return {"True": True, "False": False}.get(dotted(argument.node) or "") if argument is not None else None


def upstream_within(value: Value, passes: Iterable[str]) -> Iterator[Op]:
    """The operations that made `value`, followed through those whose bare name is in `passes`."""
    names, todo = frozenset(passes), list(value.defs)
    seen: set[Op] = set()
    while todo and len(seen) < 200:
        op = todo.pop()
        if op in seen:
            continue
        seen.add(op)
        yield op
        if bare(op) in names or op.name in names:
            todo += op.inputs


def infinite(node: cst.CSTNode | None) -> bool:
    """Is the expression plus or minus infinity (`float("-inf")`, `-float("inf")`, `-math.inf`)?"""
    if type(node) is cst.UnaryOperation:
        return infinite(node.expression)
    if type(node) is cst.Attribute:
        return (dotted(node) or "") in ("math.inf", "np.inf", "torch.inf", "numpy.inf")
    if type(node) is cst.Call and type(node.func) is cst.Name and node.func.value == "float" and node.args:
        return (text_of(node.args[0].value) or "").lower().lstrip("+-") in ("inf", "infinity")
    return False


def pair_of(op: Op, kind: str) -> list[tuple[Value, cst.BaseExpression]] | None:
    """Two operands with their nodes, of an operation that isn't in place."""
    values, where = operands(op), nodes(op)
    if sign(op) != kind or len(values) != 2 or len(where) != 2 or type(op.node) is cst.AugAssign:
        return None
    return list(zip(values, where))


def equal(a: tuple[Value, cst.BaseExpression | None], b: tuple[Value, cst.BaseExpression | None]) -> bool:
    """The same tensor, written the same: several outputs of one operation are not taken for each other."""
    if a[1] is None or b[1] is None:
        return False
    return bool(a[0].defs) and a[0].defs == b[0].defs and same_code(a[1], b[1])


def argument_of(op: Op) -> tuple[Value, cst.BaseExpression | None] | None:
    """The tensor that a function or module is applied to, with its expression."""
    if op.name == "module":
        return (op.arguments[0].value, op.arguments[0].node) if len(op.arguments) == 1 else None
    return (op.receiver, op.receiver_node) if op.receiver is not None else None


def takes_last(op: Op) -> bool:
    """Is it `x[-1]`?"""
    node = op.node
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
        return False
    return number(node.slice[0].slice.value) == -1


def told_by_text(op: Op) -> bool:
    """Is a module of unknown class told by a text what to do (`model(x, mode="generate")`)? It may give anything."""
    unknown = op.receiver is not None and op.receiver.name is None
    return op.name == "module" and unknown and any(text_of(a.node) is not None for a in op.arguments)


def made_here(holder: Op) -> bool:
    """Is it an attribute of an object that the function makes anew each time?"""
    objects = [op for op in holder.inputs if op.name != "store"]
    return bool(objects) and all(op.name == "construct" and op.loops == holder.loops for op in objects)
