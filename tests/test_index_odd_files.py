"""Indexing odd files: newer syntax, refused text, pickling, spans against the tree, module names."""

from __future__ import annotations

import ast
import gc
import pickle
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchmemlint.index.build import index_source, module_name
from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.source import Source


def index(text: str, module: str = "pkg.mod", is_package: bool = False) -> FileIndex:
    """The index of dedented source text."""
    return index_source(Source("pkg/mod.py", textwrap.dedent(text).encode()), module, is_package)


def function(file: FileIndex, qualname: str) -> FunctionInfo:
    return file.functions[f"{file.module}:{qualname}"]


def test_mentions_of_torch() -> None:
    assert index("import torch").mentions_torch
    assert not index("import numpy").mentions_torch


def test_match_statements() -> None:
    file = index(
        "match x:\n    case [a, *b]:\n        def f(): ...\n    case {'k': c, **d} | P(q=e) as g:\n        h = 1\n"
    )
    assert set("abcdefgh") <= file.globals


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters() -> None:
    file = index("type Pair[T] = tuple[T, T]\nclass Box[T]:\n    def get[U](self, x: U) -> T: ...\n")
    assert {"Pair", "Box"} == file.globals
    assert function(file, "Box.get").returns == "T"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="syntax of Python 3.11")
def test_exception_groups() -> None:
    assert "f" in index("try: ...\nexcept* OSError:\n    def f(): ...\n").globals


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", '"""doc"""'])
def test_files_without_code(text: str) -> None:
    file = index(text)
    assert list(file.functions) == ["pkg.mod:"]
    assert file.functions["pkg.mod:"].end_line >= 1


@pytest.mark.parametrize("text", ["def f(:", "x = (" * 300, "-" * 200_000 + "1", "x = 1\n  y", "async == 1"])
def test_what_the_parser_refuses_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        index(text)


def test_warnings_of_the_checked_code_stay_silent_and_gc_as_it_was() -> None:
    gc.disable()
    try:
        index("x = 1")
        assert not gc.isenabled()
    finally:
        gc.enable()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index(r"x = '\d'; y = 1 is 1")
    with pytest.raises(SyntaxError):
        index("(")
    assert gc.isenabled()


def test_an_index_survives_pickling() -> None:
    file = index("import torch\nclass A(torch.nn.Module):\n    def f(self): ...\n")
    assert pickle.loads(pickle.dumps(file)) == file


_BLOCKS = st.recursive(
    st.sampled_from(
        ["pass", "x = 1", "def f(): return 1", "async def g():\n    yield", "@d\ndef h(a=1): ...", "class C: y = 2"]
    ),
    lambda inner: st.tuples(
        st.sampled_from(
            ["if x:", "class A:", "def f(\n  a,\n):", "try:\n    pass\nfinally:", "with x as y:", "for i in x:"]
        ),
        st.lists(inner, min_size=1, max_size=3),
    ).map(lambda pair: pair[0] + "\n" + textwrap.indent("\n".join(pair[1]), "    ")),
    max_leaves=12,
)


@given(st.lists(_BLOCKS, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_spans_agree_with_the_tree(blocks: list[str], newline: str) -> None:
    text = newline.join("\n".join(blocks).split("\n"))
    file = index_source(Source("m.py", text.encode()), "m", False)
    outermost = _outermost(ast.parse(text))
    found = sorted((f.line, f.end_line, f.column) for f in file.functions.values() if f.name)
    assert found == sorted((n.lineno, n.end_lineno or 0, n.col_offset) for n in outermost)


def _outermost(node: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions that lie in no other function, found by walking everything."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(child)
        else:
            found += _outermost(child)
    return found


def test_module_names(tmp_path: Path) -> None:
    for name in (
        "src/foo/__init__.py",
        "src/foo/sub/__init__.py",
        "src/foo/sub/deep.py",
        "src/script.py",
        "src/ns/part.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    at = str(tmp_path)
    assert module_name(f"{at}/src/foo/sub/deep.py") == ("foo.sub.deep", False)
    assert module_name(f"{at}/src/foo/sub/__init__.py") == ("foo.sub", True)
    assert module_name(f"{at}/src/script.py") == ("script", False)
    assert module_name(f"{at}/src/ns/part.py") == ("part", False)
    assert module_name(f"{at}/src/ns/part.py", [f"{at}/src"]) == ("ns.part", False)
    assert module_name(f"{at}/src/foo/sub/deep.py", [at]) == ("src.foo.sub.deep", False)
    assert module_name(f"{at}/src/foo/sub/deep.py", [at, f"{at}/src"]) == ("foo.sub.deep", False)
    assert module_name(f"{at}/src/foo/sub/deep.py", ["/elsewhere"]) == ("foo.sub.deep", False)
