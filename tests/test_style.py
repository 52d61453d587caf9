"""What keeps the code readable and fast to import, checked on the code itself."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = sorted(p for p in (ROOT / "torchmemlint").rglob("*.py"))
RULES = sorted((ROOT / "rules").glob("*.py"))
RULE_MODULES = [p for p in RULES if p.name.startswith("tml")]
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_MEDIAN_FUNCTION_LINES = 12


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """(qualified by file, length in lines without decorators) of each function."""
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{name(path)}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def imported(module: ast.Module) -> set[str]:
    """Dotted names imported anywhere, `from a import b` as both a and a.b; relative ones start with a dot."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", ENGINE + RULES, ids=name)
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MAX_FILE_LINES


def test_functions_are_short() -> None:
    lengths = dict(item for path in ENGINE + RULES for item in functions(path))
    assert {f: n for f, n in lengths.items() if n > MAX_FUNCTION_LINES} == {}
    assert statistics.median(lengths.values()) <= MAX_MEDIAN_FUNCTION_LINES


STRING_METHODS = {"startswith", "endswith", "lower", "casefold", "split", "find", "count"}


def identifier_tests(module: ast.Module) -> Iterator[int]:
    """Lines that judge by how the user named something: text compared with a syntax node's identifier
    (`node.value == "loss"`), a holder's name (`event.name in NAMES`) or source text (`unit.text(node)`)."""
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(map(_is_identifier, operands)) and any(map(_is_text, operands)):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in STRING_METHODS and _is_identifier(node.value):
            yield node.lineno


def _is_identifier(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and (node.func.attr == "text" or _is_identifier(node.func.value))
    if not isinstance(node, ast.Attribute):
        return False
    of_event = isinstance(node.value, ast.Name) and node.value.id == "event"
    return node.attr == "value" or (node.attr == "name" and of_event)


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(map(_is_text, node.elts))
    return isinstance(node, ast.Name) and node.id.lstrip("_").isupper()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('node.func.attr.value == "append"', True),
        ('"loss" in name.value', True),
        ("event.name in LOSSES", True),
        ('event.name.endswith("loss")', True),
        ('event.function.unit.text(node).lower() == "loss"', True),
        ('event.op.name == "torch.cat"', False),
        ('event.kind == "container"', False),
        ("store.value.graph is Fact.YES", False),
        ("op.value.kind in (Kind.TENSOR, Kind.UNKNOWN)", False),
    ],
)
def test_the_identifier_check_tells_names_from_facts(source: str, found: bool) -> None:
    assert bool(list(identifier_tests(ast.parse(source)))) is found


@pytest.mark.parametrize("path", RULES, ids=name)
def test_rules_do_not_judge_by_names(path: Path) -> None:
    module = tree(path)
    assert list(identifier_tests(module)) == []
    assert not imported(module) & {"re", "fnmatch", "difflib"}


@pytest.mark.parametrize("path", RULES, ids=name)
def test_rules_do_not_walk_the_tree(path: Path) -> None:
    names = {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    names |= {node.name for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef)}
    assert not [n for n in names if n.startswith(("visit_", "leave_"))]
    assert not names & {"visit", "walk", "children", "findall", "extractall", "MetadataWrapper", "CSTVisitor"}
    assert not [m for m in imported(tree(path)) if m.startswith(("libcst.matchers", "libcst.metadata", "ast"))]


@pytest.mark.parametrize("path", RULES, ids=name)
def test_rules_reach_the_engine_by_its_public_parts(path: Path) -> None:
    parts = {m.split(".")[1] for m in imported(tree(path)) if m.startswith("torchmemlint.")}
    assert parts <= {"api", "findings", "fixes", "flow", "index", "knowledge"}


@pytest.mark.parametrize("path", ENGINE, ids=name)
def test_the_engine_never_imports_a_rule(path: Path) -> None:
    assert not [m for m in imported(tree(path)) if m.startswith(("torchmemlint.rules", ".rules", "..rules", "rules"))]


def test_check_imports_neither_torch_nor_numpy(tmp_path: Path) -> None:
    target = tmp_path / "train.py"
    target.write_text(
        "import torch\n\n\ndef train(model, loader, optimizer):\n    losses = []\n    for x in loader:\n"
        "        loss = model(x).sum()\n        loss.backward()\n        losses.append(loss)\n    return losses\n",
        encoding="utf-8",
    )
    code = (
        "import sys\n"
        "from torchmemlint.cli import main\n"
        "try:\n"
        f"    main(['check', '--isolated', '--no-cache', '--jobs', '1', {str(target)!r}])\n"
        "except SystemExit as end:\n"
        "    assert end.code in (0, 1), end.code\n"
        "assert 'libcst' in sys.modules\n"
        "heavy = {'torch', 'numpy', 'torchmemlint.verify'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
