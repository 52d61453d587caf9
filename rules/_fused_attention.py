"""The mend of TML308: plain attention, scores and weights used for nothing else, as one fused call."""

from __future__ import annotations

import libcst as cst

from torchmemlint.fixes import Plan, combine, delete_statement, expression_text, replace, spell
from torchmemlint.flow.attention import Attention
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.graph import Op
from torchmemlint.flow.patterns import bare, dimension, number, sign

FUSED = "torch.nn.functional.scaled_dot_product_attention"
LAST_TWO = ({-2, -1}, {2, 3})


def fused(flow: FunctionFlow, found: Attention) -> Plan | None:
    """`softmax(q @ k.transpose(-2, -1) * s, -1) @ v` in one call; None with masks, biases, dropout, or other forms."""
    spelled = spell(flow.unit, FUSED)
    query, key = _factors(found.product)
    _, value = _factors(found.result)
    scale = _scale(flow, found)
    inner = _untransposed(found, key)
    if spelled is None or query is None or inner is None or value is None or scale is None or _between(found):
        return None
    steps = _statements(flow, found, [query, inner, value])
    if steps is None:
        return None
    call = replace(found.result.node, f"{spelled}(", query, ", ", inner, ", ", value, f", scale={scale})")
    return combine([call, *steps], "use the fused operator").unsafe("results are equal up to rounding")


def _factors(op: Op) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
    """The operands of `a @ b`, `matmul(a, b)` or `a.matmul(b)`, as they are written."""
    node = op.node
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
        return node.left, node.right
    if bare(op) not in ("matmul", "bmm") or not isinstance(node, cst.Call):
        return None, None
    plain = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
    if len(plain) == 2 == len(node.args):
        return plain[0], plain[1]
    if len(plain) == 1 == len(node.args) and isinstance(node.func, cst.Attribute) and op.receiver_node is not None:
        return op.receiver_node, plain[0]
    return None, None


def _untransposed(found: Attention, key: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """`k` of `k.transpose(-2, -1)`."""
    made = next((op for op in found.product.inputs if op.node is key), None)
    if made is None or bare(made) != "transpose" or made.receiver_node is None or len(made.arguments) != 2:
        return None
    return made.receiver_node if {number(a.node) for a in made.arguments} in LAST_TWO else None


def _scale(flow: FunctionFlow, found: Attention) -> str | None:
    """What the scores are multiplied by, as text; None where more happens to them."""
    if not found.chain:
        return "1.0"
    op = found.chain[0]
    node = op.node
    if len(found.chain) > 1 or not isinstance(node, cst.BinaryOperation) or sign(op) not in ("*", "/"):
        return None
    if not any(a.node is node.left and found.product in a.value.defs for a in op.arguments):
        return None
    divided = sign(op) == "/"
    factor = expression_text(flow.unit, node.right, loose=not divided)
    return f"1 / {factor}" if divided else factor


def _between(found: Attention) -> bool:
    """Is it more than a softmax over the keys: a mask, a bias, a dropout, a cast?"""
    softmax = found.softmax
    if softmax.name != "torch.softmax" or dimension(softmax) != -1 or softmax.argument(None, "dtype") is not None:
        return True
    return found.biased or found.masks > 0 or found.result not in found.softmax.consumers


def _statements(flow: FunctionFlow, found: Attention, operands: list[cst.BaseExpression]) -> list[Plan] | None:
    """The statements that made scores and weights, deleted; None where the operands may be others by then."""
    made = {id(op.statement): op.statement for op in (found.product, *found.chain, found.softmax)}
    made.pop(id(found.result.statement), None)
    if not made:
        return []
    if not all(isinstance(node, cst.Name) for node in operands):
        return None
    names = {node.value for node in operands if isinstance(node, cst.Name)}
    span = range(found.product.order, found.result.order + 1)
    if any(op.order in span and op.path in names for op in flow.named("bind", "del")):
        return None
    statements = [s for s in made.values() if isinstance(s, cst.Assign) and _one_name(s)]
    if len(statements) != len(made) or any(op.loops != found.result.loops for op in (found.product, found.softmax)):
        return None
    return [delete_statement(*statements)]


def _one_name(statement: cst.Assign) -> bool:
    return len(statement.targets) == 1 and isinstance(statement.targets[0].target, cst.Name)
