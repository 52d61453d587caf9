"""The operator table against the installed torch: each answer is compared with what the operator does on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchgen")
pytest.importorskip("yaml")

from operator_runs import Run, runs, storage  # noqa: E402

from torchmemlint.knowledge import canonical, generate, operator, tables  # noqa: E402
from torchmemlint.knowledge.toml import read_toml  # noqa: E402

same_release = pytest.mark.skipif(
    tables.data("tensor_members.json")["torch"] != generate.release(), reason="the tables hold for another torch"
)
pytestmark = [same_release, pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("operators")]


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

    table = tables.data("ops.json")
    others = {n for n in table if "." not in n and not is_function(n)}
    assert others == set(read_toml(generate.HERE / "synonyms.toml")["not_functions"]["names"])


def test_every_tensor_member_is_known() -> None:
    unknown = [m for m in dir(torch.Tensor) if not m.startswith("_") and operator(m) is None]
    assert unknown == sorted(KNOWN_GAPS)


# Removed from torch (they raise), and a hook of load_state_dict that users don't call.
KNOWN_GAPS = {"eig", "lstsq", "solve", "symeig", "reinforce", "module_load"}
