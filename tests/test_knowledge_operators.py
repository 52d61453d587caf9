"""The operator table against the installed torch: each answer is compared with what the operator does on the CPU."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchgen")
pytest.importorskip("yaml")

from torchmemlint.knowledge import canonical, generate, operator, tables  # noqa: E402
from torchmemlint.knowledge.toml import read_toml  # noqa: E402

same_release = pytest.mark.skipif(
    tables._data("tensor_members.json")["torch"] != generate.release(), reason="the tables hold for another torch"
)
pytestmark = [same_release, pytest.mark.filterwarnings("ignore")]

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


def shares(found: Run) -> list[bool]:
    """For each result: does it lie on the storage of an operand?"""
    own = {storage(t) for operands in found.operands.values() for t in operands} - {0}
    return [storage(t) in own for t in found.results if storage(t)]


def wrong(claim: Callable[[Any, Run], bool], strided: bool = False) -> list[str]:
    """Names of the operators whose outcome contradicts the table."""
    facts = ((name, operator(name), found) for name, found in runs(strided).items())
    return [name for name, fact, found in facts if fact is None or not claim(fact, found)]


def test_hundreds_of_operators_are_run() -> None:
    assert len(runs()) >= 800
    assert len(runs(True)) >= 700


def test_tables_are_what_the_installed_torch_says() -> None:
    assert generate.main(["--check"]) == 0


def test_kind_is_what_the_storages_show() -> None:
    def kind(fact: Any, found: Run) -> bool:
        shared = shares(found)
        expected = {"view": all(shared), "fresh": not any(shared), "inplace": all(shared), "maybe_view": True}
        return expected.get(fact.kind, not found.results)

    assert wrong(kind) == []
    assert wrong(kind, strided=True) == []


@pytest.mark.parametrize(
    ("name", "both"),
    [
        ("reshape", lambda x: (x.reshape(12), x.mT.reshape(12))),
        ("flatten", lambda x: (x.flatten(), x.mT.flatten())),
        ("contiguous", lambda x: (x.contiguous(), x.mT.contiguous())),
        ("ravel", lambda x: (x.ravel(), x.mT.ravel())),
        ("reshape_as", lambda x: (x.reshape_as(torch.ones(12)), x.mT.reshape_as(torch.ones(12)))),
        ("to", lambda x: (x.to(torch.float32), x.to(torch.float64))),
        ("type_as", lambda x: (x.type_as(torch.ones(1)), x.type_as(torch.ones(1).double()))),
        ("float", lambda x: (x.float(), x.double())),
        ("einsum", lambda x: (torch.einsum("ij->ji", x), torch.einsum("ij,ij->ij", x, x))),
        ("dropout", lambda x: (torch.dropout(x, 0.5, False), torch.dropout(x, 0.5, True))),
        ("sum_to_size", lambda x: (x.sum_to_size(3, 4), x.sum_to_size(1, 4))),
        ("as_tensor", lambda x: (torch.as_tensor(x), torch.as_tensor(x, dtype=torch.float64))),
    ],
)
def test_maybe_views_do_both(name: str, both: Callable[[Any], tuple[Any, Any]]) -> None:
    x = torch.rand(3, 4)
    fact = operator(name)
    assert fact is not None
    assert fact.kind == "maybe_view"
    assert [storage(result) == storage(x) for result in both(x)] == [True, False]


# Only a later operand is differentiable, or asking for the derivative raises at once.
PARTLY = {"igamma", "igammac", "igamma_", "igammac_", "special.gammainc", "special.gammaincc", "special.zeta"}


def test_differentiable_is_requires_grad_of_the_result() -> None:
    def attached(fact: Any, found: Run) -> bool:
        floating = [t for t in found.results if t.dtype.is_floating_point or t.dtype.is_complex]
        if not found.floating or not floating or (fact.kind == "inplace" and not fact.differentiable):
            return not any(t.requires_grad for t in found.results) or fact.kind == "inplace"
        return bool(fact.differentiable) == any(t.requires_grad for t in floating)

    assert set(wrong(attached)) <= PARTLY


def test_outputs_tell_the_differentiable_results_apart() -> None:
    def each(fact: Any, found: Run) -> bool:
        seen = tuple(t.requires_grad for t in found.results)
        return len(set(seen)) < 2 or fact.outputs[: len(seen)] == seen

    assert wrong(each) == []


def test_dtype_is_that_of_the_result() -> None:
    def dtype(fact: Any, found: Run) -> bool:
        if fact.dtype is None or not found.results:
            return True
        return all((t.dtype is torch.bool) if fact.dtype == "bool" else is_integral(t) for t in found.results)

    assert wrong(dtype) == []


def is_integral(tensor: Any) -> bool:
    """An integer type, truth values apart."""
    return not (tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype is torch.bool)


def test_boolean_and_index_results_are_listed_as_such() -> None:
    def unlisted(fact: Any, found: Run) -> bool:
        plain = found.floating and found.results and fact.kind in ("fresh", "maybe_view")
        listed = "bool" if plain and found.results[0].dtype is torch.bool else None
        return fact.dtype == listed or listed is None

    assert wrong(unlisted) == []


def test_layout_of_contiguous_operands() -> None:
    def layout(fact: Any, found: Run) -> bool:
        always = fact.layout in ("contiguous", "preserve", "same") and fact.kind != "inplace"
        return not always or all(t.is_contiguous() for t in found.results)

    assert wrong(layout) == []


def test_contiguous_results_of_strided_operands() -> None:
    assert wrong(lambda fact, found: fact.layout != "contiguous" or all(map(is_contiguous, found.results)), True) == []


def is_contiguous(tensor: Any) -> bool:
    """As torch says."""
    return bool(tensor.is_contiguous())


def test_strided_and_sliced_views() -> None:
    x = torch.rand(3, 4)
    strided = [x.T, x.mT, x.t(), x.transpose(0, 1), x.permute(1, 0), x.movedim(0, 1), x.swapaxes(0, 1), x.adjoint()]
    strided += [x.unsqueeze(2).expand(3, 4, 2), x.unfold(1, 2, 1), x.diagonal(), x.broadcast_to(2, 3, 4)]
    assert not any(map(is_contiguous, strided))
    sliced = [(x.select(d, 0), x.narrow(d, 0, 2), x.split(2, d)[0], x.chunk(2, d)[0], x.unbind(d)[0]) for d in (0, 1)]
    assert [all(map(is_contiguous, views)) for views in sliced] == [True, False]
    assert not any(map(is_contiguous, sliced[1]))


def test_saved_operands_are_those_listed() -> None:
    def listed(fact: Any, found: Run) -> bool:
        if "unknown" in fact.saves or fact.kind == "inplace" or not any(t.requires_grad for t in found.results):
            return True
        if canonical(f"torch.{fact.name}") != f"torch.{fact.name}":
            return True  # a synonym: operands have the names of the other
        return {owner(tensor, found) for tensor in found.saved} <= {*fact.saves, "intermediate"}

    assert wrong(listed) == []


def owner(saved: Any, found: Run) -> str:
    """The operand or result on whose storage a saved tensor lies."""
    if not storage(saved):
        return "intermediate"
    for name, operands in found.operands.items():
        if any(storage(t) == storage(saved) for t in operands):
            return name
    position = next((i for i, t in enumerate(found.results) if storage(t) == storage(saved)), None)
    if position is None:
        return "intermediate"
    return "result" if len(found.results) == 1 else f"result{position}"


def test_no_override_is_superfluous_or_given_twice() -> None:
    base, seen = generate.base_table(), set()
    for name, key, value in generate.expanded(read_toml(generate.HERE / "overrides.toml")):
        assert (name, key) not in seen, f"{name}.{key} is given twice"
        seen.add((name, key))
        derived = base.get(name, {}).get(key, None if key == "saves" else generate.DEFAULTS[key])
        assert name not in base or derived != value, f"torch says {name}.{key} = {value} itself"


def test_delegates_exist_and_add_something() -> None:
    derivatives = generate.Derivatives()
    for name, core in read_toml(generate.HERE / "overrides.toml")["delegates"].items():
        assert core in derivatives.formulas, core
        assert not derivatives.of(name.replace(".", "_")), name


def test_synonyms_are_the_same_operator() -> None:
    for name, same in read_toml(generate.HERE / "synonyms.toml")["synonyms"].items():
        a, b = operator(name), operator(same)
        assert a is not None, name
        assert b is not None, same
        assert (a.kind, a.differentiable, a.saves, a.dtype) == (b.kind, b.differentiable, b.saves, b.dtype), name
        assert canonical(f"torch.{name}") == f"torch.{same}"


def test_types_and_modules_of_the_torch_namespace_are_no_operators() -> None:
    def is_function(name: str) -> bool:
        found = getattr(torch, name, None)
        return found is None or (callable(found) and not isinstance(found, (type, torch.dtype)))

    table = tables._data("ops.json")
    others = {n for n in table if "." not in n and not is_function(n)}
    assert others == set(read_toml(generate.HERE / "synonyms.toml")["not_functions"]["names"])


def test_every_tensor_member_is_known() -> None:
    unknown = [m for m in dir(torch.Tensor) if not m.startswith("_") and operator(m) is None]
    assert unknown == sorted(KNOWN_GAPS)


# Removed from torch (they raise), and a hook of load_state_dict that users don't call.
KNOWN_GAPS = {"eig", "lstsq", "solve", "symeig", "reinforce", "module_load"}
