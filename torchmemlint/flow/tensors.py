"""Tensor operators: methods and functional spellings, by what the operator table says of them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow import strides
from torchmemlint.flow.bindings import freeze
from torchmemlint.flow.frame import Frame, dotted
from torchmemlint.flow.graph import Argument, Op, Sink
from torchmemlint.flow.values import HOST, INTEGRAL, Fact, Kind, Layout, Value, replace

DISTINCTIVE = frozenset(
    """detach detach_ item backward contiguous requires_grad_ unsqueeze squeeze view reshape permute transpose
    clone cpu cuda argmax softmax log_softmax sigmoid tanh relu matmul bmm expand expand_as repeat masked_fill
    masked_fill_ index_select gather scatter scatter_add unbind flatten data_ptr new_zeros new_ones new_tensor
    sqrt exp pow topk unfold retain_grad register_hook bfloat16 half float double long clamp type_as view_as
    narrow baddbmm addmm einsum mean sum std var norm abs square log cumsum argsort argmin eq ne gt lt ge le
    numpy tolist t chunk repeat_interleave tile copy_ logsumexp index_add index_copy masked_select tril triu""".split()
)
AMBIGUOUS = frozenset(
    "sum mean std var view repeat item copy sort index eq t chunk split max min any all abs log".split()
)
LAYOUTS = {"contiguous": Layout.CONTIGUOUS, "strided": Layout.STRIDED}
PAIRS = frozenset({"max", "min", "topk", "sort", "median", "mode", "kthvalue", "cummax", "cummin"})
CASTS = {
    "long": "int64",
    "int": "int32",
    "byte": "uint8",
    "bool": "bool",
    "double": "float64",
    "half": "float16",
    "float": "float32",
    "bfloat16": "bfloat16",
    "short": "int16",
}
RESHAPING = frozenset({"reshape", "flatten", "ravel", "reshape_as"})  # a copy where the strides allow no view
SCALAR_IF_BASE_IS = frozenset("detach clone cpu cuda to float double mul add div squeeze log exp".split())
RESULTS = {"linalg.svd": ("U", "S", "Vh"), "svd": ("U", "S", "V"), "linalg.qr": ("Q", "R"), "qr": ("Q", "R")}
CONVERSIONS = frozenset("to type type_as cuda cpu view_as reshape_as expand_as".split())
"""Operators whose further arguments say where to or what like, and bring no graph in."""
REDUCTIONS = frozenset("sum mean std var norm prod max min".split())


def distinctive(name: str, arguments: int = 0) -> bool:
    """Does an unknown object with this method count as a tensor? NumPy's and pandas' own methods do not, unless they
    are given more arguments than those take."""
    if name in ("repeat", "view") and arguments >= 3:
        return True
    if name.endswith("_") and not name.startswith("_"):
        return True  # written in place, as only tensors are by such a name
    return name in ("item", "tolist") or (name in DISTINCTIVE and name not in AMBIGUOUS)


def method(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    """`x.name(…)` for a tensor `x`."""
    name = func.attr.value
    if not knowledge.tensor_method(name):
        return None
    return _apply(f, node, name, base, func.value, args)


def call(f: Frame, node: cst.Call, operator: str, args: list[Argument]) -> Value:
    """`torch.name(x, …)`, `F.name(x, …)`: the first argument takes the receiver's place."""
    name = operator.removeprefix("torch.")
    first = next((a for a in args if a.name in (None, "input", "tensors", "self")), None)
    rest = [a for a in args if a is not first]
    if (
        first is not None
        and first.value.kind is Kind.UNKNOWN
        and name in ("clone", "detach", "relu", "sigmoid", "tanh")
    ):
        first = Argument(first.name, replace(first.value, kind=Kind.TENSOR), first.node)
    return _apply(f, node, name, first.value if first else HOST, first.node if first else None, rest)


def _apply(
    f: Frame, node: cst.Call, name: str, base: Value, base_node: cst.BaseExpression | None, args: list[Argument]
) -> Value:
    fact = knowledge.operator(name)
    operands = [base] if name in CONVERSIONS else [base, *(a.value for a in args)]
    if fact is not None and fact.kind == "host":
        op = f.op(
            f"torch.{name}",
            node,
            HOST,
            receiver=base,
            receiver_node=base_node,
            arguments=args,
            passes=False,
            sunk=[Sink.HOST],
        )
        if name == "numpy":
            return replace(HOST, defs=(op,))
        return read_out(f, node) if name in ("item", "tolist") else HOST
    if name in ("detach", "detach_"):
        return _detach(f, node, name, base, base_node)
    value = _result(f, name, fact, base, args, operands)
    passes = (fact is None or fact.differentiable) and value.dtype not in INTEGRAL
    op = f.op(f"torch.{name}", node, value, receiver=base, receiver_node=base_node, arguments=args, passes=passes)
    if fact is not None and fact.kind == "inplace":
        _rebind(f, base_node, op.value)
    if name in RESULTS:
        return results(f, op, RESULTS[name])
    if name in PAIRS and _has_dimension(name, args):
        indices = f.op(
            f"torch.{name}.indices",
            node,
            Value(kind=Kind.TENSOR, graph=Fact.NO, dtype="int"),
            receiver=base,
            arguments=args,
            passes=False,
        ).value
        return replace(
            op.value, kind=Kind.CONTAINER, elements={"values": op.value, "indices": indices, 0: op.value, 1: indices}
        )
    return op.value


def read_out(f: Frame, node: cst.CSTNode) -> Value:
    """Python data read out of a tensor: like a literal it has no graph, but it stands for the tensor itself, so that a
    name which holds either holds a graph perhaps."""
    return f.op("number", node, HOST, passes=False).value


def results(f: Frame, op: Op, names: tuple[str, ...]) -> Value:
    """The result of an operator with several outputs: a tuple of tensors, each made by an operation of its own."""
    whole = replace(op.value, kind=Kind.TENSOR, elements=None)
    parts = {name: f.op(f"{op.name}.{name}", op.node, whole, inputs=[op.value]).value for name in names}
    op.value = replace(op.value, kind=Kind.CONTAINER)
    return replace(op.value, elements=parts | dict(enumerate(parts.values())))


def _has_dimension(name: str, args: list[Argument]) -> bool:
    if name in ("topk", "sort", "mode", "kthvalue", "cummax", "cummin"):
        return True
    dims = [a for a in args if a.name == "dim" or (a.name is None and a.value.kind is Kind.HOST)]
    return bool(dims)


def _detach(f: Frame, node: cst.Call, name: str, base: Value, base_node: cst.BaseExpression | None) -> Value:
    value = replace(base, kind=Kind.TENSOR, graph=Fact.NO, params=frozenset(), shares=base.defs, elements=None)
    op = f.op(f"torch.{name}", node, value, receiver=base, receiver_node=base_node, passes=False)
    if name == "detach_":
        _rebind(f, base_node, op.value)
    return op.value


def _rebind(f: Frame, base_node: cst.BaseExpression | None, value: Value) -> None:
    """An in-place operator changed its receiver: the name now holds the result."""
    path = dotted(base_node) if base_node is not None else None
    if path is not None and f.read(path) is not None:
        f.put(path, value)


def _result(
    f: Frame,
    name: str,
    fact: knowledge.OpFact | None,
    base: Value,
    args: Sequence[Argument],
    operands: Sequence[Value],
) -> Value:
    if name == "requires_grad_":
        off = bool(args) and args[0].value.const is False
        if off:
            freeze(f, base)
        return replace(base, kind=Kind.TENSOR, graph=Fact.NO if off else Fact.YES)
    scalar = _scalar(name, base, args)
    if fact is None:
        return f.tensor(operands, scalar=scalar)
    if name == "where" and not args:  # the places as a tuple, one tensor a dimension
        return Value(kind=Kind.CONTAINER, name="tensors", graph=Fact.NO, dtype="int64")
    layout = _format(args) or (Layout.CONTIGUOUS if name == "stack" and not args else _layout(fact, base, operands))
    aliases = fact.kind in ("view", "inplace", "maybe_view")
    shares = base.defs if aliases else ()
    device = {"cpu": "cpu", "cuda": "cuda"}.get(name) or device_of(args) or base.device
    dtype = fact.dtype or CASTS.get(name) or dtype_of(args) or (base.dtype if aliases else None)
    if not fact.differentiable or dtype in INTEGRAL:
        return Value(
            kind=Kind.TENSOR, graph=Fact.NO, layout=layout, shares=shares, dtype=dtype, device=device, scalar=scalar
        )
    value = f.tensor(operands, layout=layout, shares=shares, dtype=dtype, device=device, scalar=scalar)
    many = name in ("split", "chunk", "unbind", "tensor_split", "split_with_sizes")
    return (
        replace(value, kind=Kind.CONTAINER, name="tensors", layout=strides.parts_layout(base, args)) if many else value
    )


def _format(args: Sequence[Argument]) -> Layout | None:
    """The layout that `memory_format=` asks for; None where it is not given, or keeps the strides."""
    given = next((a.value.name for a in args if a.name == "memory_format"), "torch.preserve_format")
    if given == "torch.preserve_format":
        return None
    return Layout.CONTIGUOUS if given == "torch.contiguous_format" else Layout.UNKNOWN


def _layout(fact: knowledge.OpFact, base: Value, operands: Sequence[Value]) -> Layout:
    """The result's layout: an elementwise result is contiguous only if every tensor operand is."""
    if fact.kind == "maybe_view" and fact.layout != "contiguous":
        if fact.name == "contiguous" and len(operands) == 1:
            return Layout.CONTIGUOUS
        moved = fact.layout == "unknown" or (fact.name in RESHAPING and base.layout is Layout.STRIDED)
        return Layout.UNKNOWN if moved else base.layout
    if fact.layout == "preserve":
        tensors = [m for v in operands for m in _members(v) if m.kind is not Kind.HOST]
        return Layout.CONTIGUOUS if all(v.layout is Layout.CONTIGUOUS for v in tensors) else Layout.UNKNOWN
    return base.layout if fact.layout == "same" else LAYOUTS.get(fact.layout, Layout.UNKNOWN)


def _members(value: Value) -> tuple[Value, ...]:
    """The tensors of a list operand (`torch.cat([a, b])`); any other operand itself."""
    return value.elements if value.kind is Kind.CONTAINER and isinstance(value.elements, tuple) else (value,)


def _scalar(name: str, base: Value, args: Sequence[Argument]) -> Fact:
    if name in REDUCTIONS and not any(a.name in ("dim", "axis", None) for a in args):
        return Fact.YES
    if knowledge.functional_loss(name):
        reduction = next((a.value.const for a in args if a.name == "reduction"), "mean")
        return Fact.NO if reduction == "none" else Fact.YES
    if name in SCALAR_IF_BASE_IS:
        return base.scalar
    return Fact.NO if name in ("argmax", "cat", "stack", "softmax", "matmul") else Fact.MAYBE


def device_of(args: Sequence[Argument]) -> str | None:
    """The device that literal arguments name: "cpu", "cuda" or None."""
    for argument in args:
        const = argument.value.const
        if isinstance(const, str) and argument.name in (None, "device") and const.split(":")[0] in ("cpu", "cuda"):
            return const.split(":")[0]
    return None


def dtype_of(args: Sequence[Argument]) -> str | None:
    """The dtype that an argument names, e.g. "float64"."""
    for argument in args:
        name = argument.value.name
        if argument.value.kind is Kind.EXTERNAL and name is not None and name.startswith("torch."):
            return name.removeprefix("torch.") if argument.name in (None, "dtype") else None
    return None
