"""Runs every operator of the table that can be run on small CPU tensors, and keeps what came of it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import pytest

from torchmemlint.knowledge import generate

torch = pytest.importorskip("torch")

SHAPES = ((3, 3), (2, 3, 4), (2, 4, 6, 6), (6,), (1, 2, 4, 4, 4))
# They write files, need other hardware or state, or draw sizes from arguments that samples can't guess.
NOT_RUN = re.compile(
    r"fbgemm|quantize|cudnn|miopen|mkldnn|sparse|from_file|rnn|lstm|gru|_backward|choose_qparams|resize|set_$|nested|batch_norm_"
)


@dataclass
class Run:
    """One call that worked: the operands by parameter name, the results, the storages kept for backward."""

    operands: dict[str, list[Any]]
    results: list[Any]
    saved: list[Any] = field(default_factory=list)
    floating: bool = True


def tensors(value: Any) -> list[Any]:
    """All tensors in nested lists and tuples."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in tensors(item)] if isinstance(value, (list, tuple)) else []


def storage(tensor: Any) -> int:
    """The address of a tensor's storage, 0 if it is empty."""
    return int(tensor.untyped_storage().data_ptr())


def sample_tensor(shape: tuple[int, ...], dtype: Any, strided: bool) -> Any:
    """A tensor requiring grad where its type can; `strided`: transposed over its last two dimensions."""
    values = torch.rand(shape) * 0.8 + 0.1 if dtype.is_floating_point else torch.randint(0, 2, shape)
    values = values.to(dtype)
    if strided and len(shape) > 1:
        values = values.mT.contiguous().mT
    return values.requires_grad_() if dtype.is_floating_point else values


CHOICES: dict[str, list[Any]] = {
    "int": [1, 0, 2],
    "number": [0.5, 1],
    "float": [0.5],
    "bool": [True],
    "List[int]": [[1], [0, 1], [2, 2], [3, 3], [0]],
    "str": ["mean"],
    "Optional[int]": [1],
}


def arguments(schema: Any, make: Callable[[bool], Any], index_dtype: bool) -> Iterator[dict[str, Any]]:
    """Values for the required parameters of an overload; second and later tensors are indices with `index_dtype`."""
    required = [a for a in schema.arguments if not a.has_default_value()]
    options: list[list[Any]] = []
    for position, argument in enumerate(required):
        kind = str(argument.type).replace("Scalar", "number")
        if kind in ("Tensor", "Optional[Tensor]"):
            options.append([make(index_dtype and position > 0)])
        elif kind == "List[Tensor]":
            options.append([[make(False), make(False)]])
        else:
            options.append(CHOICES.get(kind, []))
    for values in itertools.islice(itertools.product(*options), 40):
        yield {a.name: v for a, v in zip(required, values)}


def spellings(name: str) -> Iterator[Any]:
    """The callables a user reaches the operator by; those that take their arguments as the schema does come first."""
    if "." in name:
        space, _, tail = name.rpartition(".")
        yield getattr(getattr(torch, space) if space != "nn.functional" else torch.nn.functional, tail)
        return
    for owner in (torch, torch.Tensor, torch.nn.functional):
        found = getattr(owner, name, None)
        if callable(found) and not isinstance(found, (type, torch.dtype)):
            yield found


def attempt(call: Any, values: dict[str, Any], floating: bool) -> Run | None:
    """The call's outcome, or None where it doesn't take these arguments."""
    saved: list[Any] = []
    copies = {n: [t.clone() if t.requires_grad else t for t in tensors(v)] for n, v in values.items()}
    given = {n: copies[n] if isinstance(v, list) and copies[n] else (copies[n] or [v])[0] for n, v in values.items()}

    def keep(tensor: Any) -> Any:
        saved.append(tensor)
        return tensor

    try:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            result = call(*given.values())
    except Exception:
        return None
    return Run({n: c for n, c in copies.items() if c}, tensors(result) or [], saved, floating)


def floats(*shape: int, strided: bool = False) -> Any:
    """A float tensor that requires grad."""
    return sample_tensor(shape, torch.float32, strided)


def indices(*shape: int) -> Any:
    """Zeros and ones, for classes and positions."""
    return torch.randint(0, 2, shape)


def flags(*shape: int) -> Any:
    """A mask."""
    return torch.rand(shape) > 0.5


@cache
def written_samples(strided: bool) -> dict[str, dict[str, Any]]:
    """Operands by name where schemas don't tell what fits, and those of Python-only functions."""
    t = partial(floats, strided=strided)
    pair, square, image = (2, 3, 4), t(3, 3), t(2, 4, 6, 6)
    batch_norm = {"running_mean": torch.zeros(4), "running_var": torch.ones(4), "weight": t(4), "bias": t(4)}
    qkv = {n: t(2, 2, 5, 4) for n in ("query", "key", "value")}
    return {
        "bmm": {"self": t(2, 3, 3), "mat2": t(2, 3, 3)},
        "baddbmm": {"self": t(2, 3, 3), "batch1": t(2, 3, 3), "batch2": t(2, 3, 3)},
        "mv": {"self": square, "vec": t(3)},
        "bilinear": {"input1": t(5, 3), "input2": t(5, 4), "weight": t(2, 3, 4)},
        "masked_fill": {"self": t(*pair), "mask": flags(*pair), "value": 0.0},
        "masked_select": {"self": t(*pair), "mask": flags(*pair)},
        "masked_scatter": {"self": t(*pair), "mask": flags(*pair), "source": t(*pair)},
        "clamp": {"self": t(*pair), "min": 0.2},
        "clip": {"self": t(*pair), "min": 0.2},
        "nll_loss": {"self": t(4, 5), "target": indices(4)},
        "cross_entropy": {"input": t(4, 5), "target": indices(4)},
        "multi_margin_loss": {"self": t(4, 5), "target": indices(4)},
        "cosine_embedding_loss": {"input1": t(4, 5), "input2": t(4, 5), "target": 2 * indices(4) - 1},
        "prelu": {"self": t(*pair), "weight": t(1)},
        "batch_norm": {"input": image, **batch_norm, "training": True},
        "conv_transpose2d": {"input": image, "weight": t(4, 2, 3, 3)},
        "adaptive_avg_pool3d": {"self": t(1, 2, 4, 4, 4), "output_size": [2, 2, 2]},
        "grid_sample": {"input": image, "grid": t(2, 6, 6, 2)},
        "scaled_dot_product_attention": qkv,
        "normalize": {"input": t(*pair)},
        "softsign": {"input": t(*pair)},
        "softmin": {"input": t(*pair), "dim": 1},
        "tanhshrink": {"input": t(*pair)},
        "logsigmoid": {"self": t(*pair)},
        "local_response_norm": {"input": image, "size": 2},
        "dropout2d": {"input": image},
        "interpolate": {"input": image, "size": 3},
        "gaussian_nll_loss": {"input": t(4), "target": t(4), "var": t(4)},
        "triplet_margin_with_distance_loss": {"anchor": t(4, 5), "positive": t(4, 5), "negative": t(4, 5)},
        "gumbel_softmax": {"logits": t(4, 5)},
        "fold": {"input": t(2, 4, 9), "output_size": [4, 4], "kernel_size": [2, 2]},
        "nn.functional.unfold": {"input": image, "kernel_size": [2, 2]},
        "lp_pool2d": {"input": image, "norm_type": 2, "kernel_size": 2},
        "einsum": {"equation": "ij,jk->ik", "operands": [square, square]},
        "tensordot": {"self": square, "other": t(3, 3), "dims": 1},
        "select_scatter": {"self": square, "src": t(3), "dim": 0, "index": 0},
        "unique": {"self": t(*pair)},
        "tensor": {"data": [1.0, 2.0]},
        "as_tensor": {"data": square},
        "one_hot": {"self": indices(4)},
        "cartesian_prod": {"a": t(3), "b": t(3)},
        "block_diag": {"a": square, "b": square},
        "broadcast_tensors": {"a": square, "b": square},
        "linalg.cholesky": {"self": square @ square.mT + torch.eye(3)},
        **{
            name: {"self": t(*pair)} for name in ("float", "double", "half", "bfloat16", "long", "int", "short", "bool")
        },
        **{name: {"self": square} for name in ("tolist", "data_ptr", "nelement", "ndimension", "numpy", "is_shared")},
    }


@cache
def schemas() -> dict[str, list[Any]]:
    """All overloads by aten name."""
    return generate.aten_schemas()


@cache
def public() -> dict[str, str]:
    """Bare name to aten name of everything the table derives."""
    return generate.public_names(schemas())


@cache
def run(name: str, strided: bool = False) -> Run | None:
    """The first call of the operator that works on small tensors."""
    torch.manual_seed(0)
    if written := written_samples(strided).get(name):
        return next(filter(None, (attempt(call, written, True) for call in spellings(name))), None)
    overloads = schemas().get(public().get(name, ""), [])
    types = [(torch.float32, False), (torch.float32, True), (torch.int64, True)]
    for call, (dtype, index), shape in itertools.product(list(spellings(name)), types, SHAPES):

        def make(integral: bool, dtype: Any = dtype, shape: tuple[int, ...] = shape) -> Any:
            return sample_tensor(shape, torch.int64 if integral else dtype, strided)

        for schema in filter(generate.touches_tensor, overloads):
            for values in arguments(schema, make, index):
                found = attempt(call, values, dtype.is_floating_point)
                if found is not None:
                    return found
    return None


@cache
def runs(strided: bool = False) -> dict[str, Run]:
    """Everything that could be run."""
    names = sorted({*(n for n in public() if not NOT_RUN.search(n)), *written_samples(False)})
    return {name: found for name in names if (found := run(name, strided)) is not None}
