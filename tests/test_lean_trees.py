"""Lean trees are libcst's trees without their spelling, and lead to the nodes of those."""

from __future__ import annotations

import ast
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from hypothesis import HealthCheck, assume, given, settings

from torchmemlint.checker import Checker
from torchmemlint.flow import lean
from torchmemlint.flow.function import definition
from torchmemlint.flow.program import Program
from torchmemlint.flow.units import Slice, Slices, Unit, function_text
from torchmemlint.index.build import index_source
from torchmemlint.index.project import ProjectIndex
from torchmemlint.loader import load_rules
from torchmemlint.source import Source, decode, read

ROOT = Path(__file__).parent.parent
FILES = sorted(p for part in ("torchmemlint", "rules", "fixtures", "tests") for p in (ROOT / part).rglob("*.py"))
LITERALS = (cst.SimpleString, cst.Integer, cst.Float, cst.Imaginary)
EXACT_STRINGS = sys.version_info >= (3, 12)


def difference(one: Any, other: Any, path: str = "") -> str:
    """Where a lean tree differs in meaning from libcst's; empty where it doesn't."""
    if isinstance(one, cst.FormattedString):
        return difference(interpolated(one), interpolated(other), path)
    if isinstance(one, (tuple, list)):
        if len(one) != len(other):
            return f"{path}: {len(one)} against {len(other)}"
        return next(filter(None, (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(one, other)))), "")
    if isinstance(one, LITERALS) and isinstance(other, (*LITERALS, cst.ConcatenatedString)):
        return "" if value(one) == value(other) else f"{path}: {value(one)} against {value(other)}"
    if isinstance(one, str) and isinstance(other, str):
        return "" if unicodedata.normalize("NFKC", other) == one else f"{path}: {one} against {other}"
    if type(one) is not type(other):
        return f"{path}: {type(one).__name__} against {type(other).__name__}"
    if not isinstance(one, cst.CSTNode):
        return "" if one == other else f"{path}: {one} against {other}"
    parts = ((n, getattr(one, n), getattr(other, n)) for n in lean.fields(type(one)))
    parts = ((n, interpolated(a), interpolated(b)) if n == "format_spec" else (n, a, b) for n, a, b in parts)
    return next(filter(None, (difference(a, b, f"{path}.{n}") for n, a, b in parts)), "")


def value(node: Any) -> object:
    return node.evaluated_value if not isinstance(node, cst.Imaginary) else complex(node.value)


def interpolated(node: Any) -> list[Any]:
    """The expressions of an f-string, of what adjoins it, or of a format specification."""
    if isinstance(node, cst.ConcatenatedString):
        return interpolated(node.left) + interpolated(node.right)
    parts = node.parts if isinstance(node, cst.FormattedString) else node if isinstance(node, (tuple, list)) else ()
    return [part for part in parts if isinstance(part, cst.FormattedStringExpression)]


def tree_of(text: str) -> lean.Lean:
    made = lean.parse(text.encode())
    assert made is not None, "no lean tree"
    return made


ODD = (ROOT / "tests/data/odd_code.txt").read_text(encoding="utf-8")[:-1].split("\n----\n")
ODD += ["if x:\r\n  a\r\n", "a\r\n'''c\r\nd'''\r\n", "if 1:\n\tx\n\ty", "", "# only"]


@pytest.mark.parametrize("text", ODD)
def test_a_lean_tree_is_the_tree_of_libcst(text: str) -> None:
    tree, concrete = tree_of(text).tree, cst.parse_module(text)
    assert difference(tree, concrete) == ""
    assert lean.twins(tree, concrete)[tree] is concrete


SHAPES = [
    ("x[(a, b)]", "x[a, b]"),
    ("if a: b", "if a:\n  b"),
    ("'a' 'b'", "'ab'"),
    ("a; b", "a\nb"),
    ("if a:\n  b\nelif c:\n  d", "if a:\n  b\nelse:\n  if c:\n    d"),
    ("del a,", "del a"),
    ("def f(a, *, b): 0", "def f(a, b): 0"),
]
LEAVES = [
    ("-1", "+1"),
    ("f(a)", "f(*a)"),
    ("a", "b"),
    ("a += 1", "a -= 1"),
    ("1", "2"),
    ("from . import a", "import a"),
]


@pytest.mark.parametrize(("one", "other"), SHAPES + LEAVES)
def test_the_comparison_sees_what_differs(one: str, other: str) -> None:
    assert difference(tree_of(one).tree, cst.parse_module(other))


@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_twins_are_not_made_of_trees_of_different_shapes(one: str, other: str) -> None:
    made = tree_of(one).tree
    with pytest.raises(lean.Mismatch):
        lean.twins(made, cst.parse_module(other))


@pytest.mark.parametrize(
    "text",
    ["match a:\n  case 1: pass", "x[(a # )\n), (b)]", "x = 1; \\\ny = 2", "if x: \\\n  a", "\fx", "1e400",
     "(a.b): int = 1", "class A(metaclass=M, *b): pass", "def f(", "0x" + "f" * 9000],
)  # fmt: skip
def test_what_ast_cannot_tell_is_left_to_libcst(text: str) -> None:
    assert lean.parse(text.encode()) is None


def test_code_deeper_than_the_stack_is_left_to_libcst() -> None:
    assert lean.parse(b"x = " + b"-" * 5000 + b"1") is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_projects_own_code_reads_the_same(path: Path) -> None:
    data = read(str(path)).data
    made = lean.parse(data)
    if made is None:
        assert b"match " in data or b"\f" in data or b"except*" in data
        return
    concrete = cst.parse_module(data.decode())
    assert difference(made.tree, concrete) == ""
    assert len(lean.twins(made.tree, concrete)) > 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_tree_made_ahead_is_that_of_the_slice(path: Path) -> None:
    source, ahead = read(str(path)), Slices()
    file = index_source(source, "m", False, ahead.make_ahead)
    for info in file.functions.values():
        data = function_text(source, info)[0] if info.name else b""
        made = ahead.made_ahead(info, data)
        if made is not None:
            assert difference(made.tree, Slice(data).tree) == ""
            node = definition(Unit(lambda _: source, file, info, made, ((0, 0),)))
            assert isinstance(node, cst.FunctionDef)
            assert node.name.value == info.name


def test_most_functions_that_do_something_are_made_ahead() -> None:
    source, ahead = read(str(ROOT / "torchmemlint" / "engine.py")), Slices()
    file = index_source(source, "m", False, ahead.make_ahead)
    looping = file.functions["m:Session._link"]
    assert ahead.made_ahead(looping, function_text(source, looping)[0]) is not None
    assert ahead.made_ahead(looping, b"other text") is None


def nodes(node: cst.CSTNode, inside: bool = False) -> Iterator[cst.CSTNode]:
    """The expressions of a tree, those in f-strings only where their text is known."""
    if isinstance(node, cst.FormattedString) and not EXACT_STRINGS:
        return
    if isinstance(node, cst.BaseExpression) and not isinstance(node, cst.StarredElement):
        yield node
    for child in lean.children(node):
        yield from nodes(child)


def unit_of(text: str) -> Unit:
    source = decode(text.encode(), "m.py")
    index = index_source(source, "m", False)
    body = next(f for f in index.functions.values() if not f.name)
    return Unit(lambda _: source, index, body, Slice(source.data), ((0, 0),))


@pytest.mark.parametrize("text", ODD)
def test_a_lean_expression_stands_where_its_text_says_the_same(text: str) -> None:
    unit = unit_of(text)
    for node in nodes(unit.tree):
        again = tree_of(f"(\n{unit.text(node)}\n)").tree.body[0]
        assert isinstance(again, cst.SimpleStatementLine)
        assert isinstance(again.body[0], cst.Expr)
        assert lean.same_code(again.body[0].value, node), unit.text(node)


def test_same_code_looks_through_blanks_and_brackets() -> None:
    def expression(text: str) -> cst.CSTNode:
        return tree_of(text).tree.body[0]

    assert lean.same_code(expression("f( (a), b [1] )"), expression("f(a, b[1])"))
    assert not lean.same_code(expression("f(a, b[1])"), expression("f(a, b[2])"))
    assert not lean.same_code(expression("f(a)"), expression("f(a, b)"))
    assert not lean.same_code(expression("a + b"), expression("a - b"))


def test_a_unit_gives_the_text_of_annotations_and_handlers_without_libcst() -> None:
    unit = unit_of("x: List[ 'T' ] = 1\ntry:\n    a\nexcept (A, B):\n    # ü\n    f()\n")
    line, attempt = unit.tree.body
    assert isinstance(line, cst.SimpleStatementLine)
    assert isinstance(attempt, cst.Try)
    assert isinstance(line.body[0], cst.AnnAssign)
    assert unit.code(line.body[0].annotation.annotation) == "List[ 'T' ]"
    handler = attempt.handlers[0]
    assert handler.type is not None
    assert unit.code(handler.type) == "(A, B)"
    assert unit.code(handler) == "except (A, B):\n    # ü\n    f()"
    assert "concrete" not in vars(unit)
    assert unit.code(attempt.body).strip() == "a"


def test_silent_code_is_never_parsed_by_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    """libcst's parser is needed where something is found, and nowhere else."""
    parsed: list[str] = []
    parse = cst.parse_module

    def noted(text: str) -> cst.Module:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(cst, "parse_module", noted)
    kept = "losses.append(loss)"
    text = (
        "import torch\n\ndef train(model, loader, optimizer):\n    losses = []\n    for x in loader:\n"
        "        optimizer.zero_grad()\n        loss = model(x).sum()\n        loss.backward()\n"
        f"        optimizer.step()\n        {kept}\n    return losses\n"
    )
    assert found(text.replace(kept, "losses.append(loss.item())")) == set()
    assert parsed == []
    assert "TML101" in found(text)
    assert len(parsed) == 1


def found(text: str) -> set[str]:
    source = Source("m.py", text.encode())
    program = Program(ProjectIndex({"m.py": index_source(source, "m", False)}))
    program.provide(source)
    return {d.code for d in Checker(program, [rule() for rule in load_rules()]).diagnostics("m.py")}


SPELLED = {"children", "deep_equals", "deep_clone", "code_for_node", "visit", "with_changes", "lpar", "rpar", "comma"}
ANALYSIS = sorted(p for part in ("torchmemlint/flow", "rules") for p in (ROOT / part).glob("*.py"))


@pytest.mark.parametrize("path", ANALYSIS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_analysis_asks_nothing_of_nodes_that_lean_ones_have_not(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert used & SPELLED <= ({"code_for_node"} if path.name == "units.py" else set())


hypothesmith = pytest.importorskip("hypothesmith")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=hypothesmith.from_grammar())
def test_generated_programs_read_the_same(text: str) -> None:
    made = lean.parse(text.encode())
    assume(made is not None)
    assert made is not None
    try:
        concrete = cst.parse_module(text)
    except cst.ParserSyntaxError:
        ast.parse(text)
        return
    assert difference(made.tree, concrete) == ""
    lean.twins(made.tree, concrete)
