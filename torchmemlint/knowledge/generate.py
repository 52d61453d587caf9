"""Derive `ops.json` and `tensor_members.json` from torch's own operator schemas, kernels and derivative formulas.

Run with torch installed: `python -m torchmemlint.knowledge.generate` writes the tables, `--check` exits 1 where the
files differ from what the installed torch says. What the schemas lack stands in `overrides.toml`, each with a reason.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchmemlint.knowledge.toml import read_toml

HERE = Path(__file__).parent
TABLE = HERE / "ops.json"
MEMBERS = HERE / "tensor_members.json"
NAMESPACES = ("linalg", "fft", "special")
FIELDS = ("kind", "diff", "outputs", "layout", "dtype", "saves")
DEFAULTS: dict[str, Any] = {
    "kind": "fresh",
    "diff": True,
    "outputs": None,
    "layout": "preserve",
    "dtype": None,
    "saves": [],
}
PRECEDENCE = ("inplace", "view", "fresh", "host")
# Reading a tensor's description in a backward formula keeps no storage.
DESCRIPTION = (
    r"sym_sizes|sizes|sym_size|size|sym_strides|strides|scalar_type|options|dim|sym_numel|numel|layout|device|is_complex"
    r"|suggest_memory_format|sym_blocksize|defined|is_sparse|is_nested|sym_storage_offset|storage_offset|is_floating_point"
)

Schemas = dict[str, list[Any]]


def aten_schemas() -> Schemas:
    """Every `aten` schema without out= variants, by bare operator name."""
    import torch

    found: Schemas = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten" and not any(argument.is_out for argument in schema.arguments):
            found.setdefault(name, []).append(schema)
    return found


def public_names(schemas: Schemas) -> dict[str, str]:
    """Bare name users can reach ("cat", "linalg.svd") -> aten name ("cat", "linalg_svd")."""
    import torch
    import torch.nn.functional as functional

    names = {n: n for n in dir(torch.Tensor) if not n.startswith("_") and n in schemas}
    for space in (torch, functional):
        names.update({n: n for n in dir(space) if n in schemas and (not n.startswith("_") or n.startswith("_foreach"))})
    for prefix in NAMESPACES:
        space = getattr(torch, prefix)
        names.update({f"{prefix}.{n}": f"{prefix}_{n}" for n in dir(space) if f"{prefix}_{n}" in schemas})
    return {bare: aten for bare, aten in names.items() if any(map(touches_tensor, schemas[aten]))}


def is_tensor(kind: Any) -> bool:
    """Is a schema type a tensor, an optional one or a list of tensors?"""
    return "Tensor" in str(kind)


def touches_tensor(schema: Any) -> bool:
    """Does the overload take or return a tensor? (`aten::split` also splits strings.)"""
    return any(is_tensor(a.type) for a in (*schema.arguments, *schema.returns))


def kind_of(schema: Any) -> str:
    """What an overload does: "inplace", "view", "fresh" or "host"."""
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if written and written[0] is schema.arguments[0] and schema.name.endswith("_"):
        return "inplace"
    if not any(is_tensor(r.type) for r in schema.returns):
        return "host"
    return "view" if any(r.alias_info is not None for r in schema.returns) and not written else "fresh"


class Formula:
    """The backward formulas of one overload, from an entry of torch's derivatives.yaml."""

    def __init__(self, entry: dict[str, Any]) -> None:
        head, _, tail = entry["name"].rpartition(" -> ")
        self.name = re.split(r"[.(]", head)[0]
        self.tensors = re.findall(r"Tensor(?:\([^)]*\))?(?:\[\d*\])?\?? (\w+)", head)
        returned = re.findall(r"Tensor(?:\([^)]*\))?(?:\[\])?(?: (\w+))?", tail)
        plain = [f"result{i}" for i in range(len(returned))] if len(returned) > 1 else ["result"]
        self.results = plain
        self.named = {name: plain[i] for i, name in enumerate(returned) if name} | {name: name for name in plain}
        body = entry.get("dispatch", {}).get("Default", entry)
        inputs = ((a, f) for a, f in body.items() if isinstance(f, str) and a.split(",")[0] in self.tensors)
        self.backward = [f for _, f in inputs if f != "non_differentiable"]
        self.declared: list[Any] | None = entry.get("output_differentiability")

    def outputs(self) -> list[bool]:
        """Which results are differentiable; a formula that reads only `grad` differentiates the first alone."""
        if not self.backward:
            return [False] * len(self.results)
        if self.declared is not None:
            return [x is not False for x in self.declared[: len(self.results)]]
        text = " ".join(self.backward)
        if "grads[" in text:
            return [True] * len(self.results)
        used = {self.named.get(name) for name in re.findall(r"\bgrad_(\w+)", text)}
        if used & set(self.results):
            return [name in used for name in self.results]
        return [True] + [False] * (len(self.results) - 1)

    def saves(self) -> set[str]:
        """Operands and results whose storage the formulas read; sizes, types and strides alone keep none."""
        text = re.sub(rf"\b\w+\.({DESCRIPTION})(_symint)?\(-?\w*\)", "", " ".join(self.backward))
        text = re.sub(r"\b(to_args_\w+|TensorGeometry)\(\w+\)", "", text)
        words = set(re.findall(r"[A-Za-z_]\w*", text))  # torch's own search is as crude: `at::real(grad)` keeps `real`
        return {n for n in self.tensors if n in words} | {r for n, r in self.named.items() if n in words}


class Derivatives:
    """The backward formulas packaged with torch, by bare operator name."""

    def __init__(self) -> None:
        import torchgen
        import yaml

        path = Path(str(torchgen.__file__)).parent / "packaged" / "autograd" / "derivatives.yaml"
        self.formulas: dict[str, list[Formula]] = {}
        for formula in map(Formula, yaml.safe_load(path.read_text(encoding="utf-8"))):
            self.formulas.setdefault(formula.name, []).append(formula)

    def of(self, aten: str) -> list[Formula]:
        """The formulas of an operator; in-place, list and copying variants share its formulas."""
        functional = aten.rstrip("_")
        names = (aten, functional, functional.removeprefix("_foreach_"), functional.removesuffix("_copy"))
        return next((self.formulas[n] for n in names if n in self.formulas), [])

    def differentiable(self, aten: str) -> bool | None:
        """Has some overload a derivative? None: no entry, so the kernel decides."""
        formulas = self.of(aten)
        return any(any(f.outputs()) for f in formulas) if formulas else None

    def outputs(self, aten: str) -> list[bool] | None:
        """Which results are differentiable, where they differ."""
        mixed = [f.outputs() for f in self.of(aten) if len(set(f.outputs())) > 1]
        return max(mixed, key=len) if mixed else None

    def saves(self, aten: str) -> list[str]:
        """What some overload keeps for backward: operands as they are declared, then results."""
        found = {name for formula in self.of(aten) for name in formula.saves()}
        declared = dict.fromkeys(name for formula in self.of(aten) for name in (*formula.tensors, *formula.results))
        return sorted(found, key=lambda name: (name.startswith("result"), list(declared).index(name)))


def differentiable(aten: str, schemas: list[Any], derivatives: Derivatives) -> bool:
    """Does the result require grad where an operand does? Without a formula it does so too: torch then attaches a node
    that keeps the graph and raises in backward, except for the few operators that it exempts by name."""
    from torchgen.packaged.autograd.gen_variable_type import DONT_REQUIRE_DERIVATIVE

    if not any(is_tensor(a.type) for s in schemas for a in s.arguments):
        return False
    known = derivatives.differentiable(aten)
    return aten.rstrip("_") not in DONT_REQUIRE_DERIVATIVE if known is None else known


def derived(aten: str, schemas: list[Any], derivatives: Derivatives) -> dict[str, Any]:
    """The record of one operator from torch alone."""
    schemas = [s for s in schemas if touches_tensor(s)]
    kinds = {kind_of(s) for s in schemas}
    kind = next(k for k in PRECEDENCE if k in kinds)
    if kind == "host":
        return {"kind": "host", "diff": False}
    record: dict[str, Any] = {"kind": kind, "diff": differentiable(aten, schemas, derivatives)}
    record["layout"] = layout_of(kind, schemas)
    if record["diff"]:
        record["outputs"] = derivatives.outputs(aten)
        if kind == "view" or (derivatives.of(aten) and not aten.startswith("_foreach")):
            record["saves"] = derivatives.saves(aten)
    return record


def layout_of(kind: str, schemas: list[Any]) -> str:
    """How the result lies in memory, as far as schemas tell."""
    if kind in ("inplace", "view"):
        return "same"
    takes_tensor = any(is_tensor(a.type) for s in schemas for a in s.arguments)
    return "preserve" if takes_tensor else "contiguous"


def expanded(overrides: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(operator, field, value) of every override."""
    for group in overrides["override"]:
        for name in group["names"]:
            for key in FIELDS:
                if key in group:
                    yield name, key, group[key]


def base_table() -> dict[str, dict[str, Any]]:
    """All records as derived, before the overrides."""
    schemas, derivatives = aten_schemas(), Derivatives()
    table = {n: derived(aten, schemas[aten], derivatives) for n, aten in public_names(schemas).items()}
    for name, core in read_toml(HERE / "overrides.toml")["delegates"].items():
        table.setdefault(name, {"kind": "fresh", "diff": True, "layout": "preserve"})
        count = max((len(s.returns) for s in schemas.get(name.replace(".", "_"), ())), default=1)
        table[name]["saves"] = delegated(derivatives.saves(core), count)
    return table


def delegated(saves: list[str], count: int) -> list[str]:
    """What a composite operator with `count` results keeps, given what its core keeps: the core's further results are
    intermediates."""

    def seen(name: str) -> str:
        position = re.fullmatch(r"result(\d+)", name)
        if position is None:
            return name
        if int(position[1]) >= count:
            return "intermediate"
        return name if count > 1 else "result"

    return list(dict.fromkeys(map(seen, saves)))


def full_table() -> dict[str, dict[str, Any]]:
    """The table that is shipped, defaults left out. What composite operators keep for backward is unknown unless an
    override tells."""
    table = base_table()
    for name, key, value in expanded(read_toml(HERE / "overrides.toml")):
        table.setdefault(name, {"kind": "fresh", "diff": True})[key] = value
    for name, same in read_toml(HERE / "synonyms.toml")["synonyms"].items():
        table[name].setdefault("saves", table[same].get("saves", ["unknown"]))
    for record in table.values():
        if record["kind"] in ("fresh", "inplace"):
            record.setdefault("saves", ["unknown"])
    return {name: pruned(record) for name, record in sorted(table.items())}


def pruned(record: dict[str, Any]) -> dict[str, Any]:
    """The record without fields that have their default, and without fields that its kind rules out."""
    if record["kind"] == "host":
        return {"kind": "host"}
    if not record.get("diff", True):
        record = {**record, "saves": [], "outputs": None}
    return {key: record[key] for key in FIELDS if record.get(key, DEFAULTS[key]) != DEFAULTS[key]}


def rendered(table: dict[str, dict[str, Any]]) -> str:
    """One operator a line, so that a change of torch reads as a small diff."""
    lines = (f"{json.dumps(name)}: {json.dumps(record)}" for name, record in table.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def release() -> str:
    """The installed torch's release, without its build tag: the tables hold for this one."""
    import torch

    return str(torch.__version__).partition("+")[0]


def members() -> str:
    """The public methods and properties of torch.Tensor as JSON, one a line."""
    import torch

    names = [m for m in dir(torch.Tensor) if not m.startswith("_")]
    return json.dumps({"torch": release(), "members": names}, indent=0) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the tables, or with `--check` compare them; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m torchmemlint.knowledge.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if the files are not what torch says")
    check = parser.parse_args(arguments).check
    stale = 0
    for path, text in ((TABLE, rendered(full_table())), (MEMBERS, members())):
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        if check:
            difference = difflib.unified_diff(present.splitlines(True), text.splitlines(True), path.name, "torch", n=0)
            sys.stdout.writelines(difference)
            stale |= present != text
        else:
            path.write_text(text, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
