"""Keyword arguments set and removed, with the commas and the layout of the call."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from fixing import fixed, unit_at
from hypothesis import given, settings
from hypothesis import strategies as st

from torchmemlint.fixes import apply, remove_keyword, resolve, set_keyword
from torchmemlint.source import decode


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«f()»", "f(k=1)"),
        ("«f( )»", "f( k=1)"),
        ("«f(  # none\n)»", "f(  # none\nk=1)"),
        ("«f(a)»", "f(a, k=1)"),
        ("«f(a,)»", "f(a, k=1,)"),
        ("«f(a, )»", "f(a, k=1, )"),
        ("«f((a))»", "f((a), k=1)"),
        ("«f(i for i in x)»", "f((i for i in x), k=1)"),
        ("«f(a, k=2)»", "f(a, k=1)"),
        ("«f(k = (2), b=3)»", "f(k = 1, b=3)"),
        ("«f(k=1)»", None),
        ("«f(*a)»", None),
        ("«f(**a)»", None),
        ("«f(*a, k=2)»", "f(*a, k=1)"),
        ("«f(\n    a,\n    b,\n)»", "f(\n    a,\n    b,\n    k=1,\n)"),
        ("«f(\n    a,\n    b,  # why\n)»", "f(\n    a,\n    b,  # why\n    k=1,\n)"),
        ("«f(\n    a,\n    b  # why\n)»", "f(\n    a,\n    b,  # why\n    k=1\n)"),
        ("«f(\n\ta,\n\tb\n)»", "f(\n\ta,\n\tb,\n\tk=1\n)"),
        ("«f(a,\n  b)»", "f(a,\n  b, k=1)"),
        ("«f(\n    a,\n    b=2,\n    c=3)»", "f(\n    a,\n    b=2,\n    c=3,\n    k=1)"),
        ("«f(a,\n  b=2,\n  c=[\n    3])»", "f(a,\n  b=2,\n  c=[\n    3],\n  k=1)"),
        ("«f(a,\n  b=2, d=4,\n  c=3)»", "f(a,\n  b=2, d=4,\n  c=3, k=1)"),
        ("«f(\n    a,\n    b=2,\n    c=3  # why\n)»", "f(\n    a,\n    b=2,\n    c=3,  # why\n    k=1\n)"),
        ("«f(\n    a=[\n        1,\n    ],\n)»", "f(\n    a=[\n        1,\n    ],\n    k=1,\n)"),
        ("s = 'ä'; «f(é)»", "s = 'ä'; f(é, k=1)"),
        ("y = f'{«f(a)»}'", "y = f'{f(a, k=1)}'"),
        ("«f»", None),
    ],
)
def test_set_keyword(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, call: set_keyword(call, "k", "1")) == after


def test_set_keyword_parenthesises_what_is_no_single_value() -> None:
    assert fixed("«f(a)»", lambda unit, call: set_keyword(call, "k", "1, 2")) == "f(a, k=(1, 2))"
    assert fixed("«f(a)»", lambda unit, call: set_keyword(call, "k", "(1, 2)")) == "f(a, k=(1, 2))"
    assert fixed("«f(a)»", lambda unit, call: set_keyword(call, "k", "lambda: 0")) == "f(a, k=lambda: 0)"
    assert fixed("«f(a)»", lambda unit, call: set_keyword(call, "k", "1) + (2")) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«f(k=1)»", "f()"),
        ("«f( k=1, )»", "f()"),
        ("«f(\n    k=1,\n)»", "f()"),
        ("«f(  # why\n    k=1,\n)»", None),
        ("«f(a, k=1)»", "f(a)"),
        ("«f(a, k=1,)»", "f(a,)"),
        ("«f(k=1, b=2)»", "f(b=2)"),
        ("«f(a, k=1, **b)»", "f(a, **b)"),
        ("«f((a), k=(1))»", "f((a))"),
        ("«f(\n    a,\n    k=1,\n)»", "f(\n    a,\n)"),
        ("«f(\n    a,\n    k=1,  # why\n    b=2,\n)»", None),
        ("«f(\n    a,  # why\n    k=1,\n)»", None),
        ("«f(\n    k=1,\n    b=2,\n)»", "f(\n    b=2,\n)"),
        ("«f(a)»", None),
        ("«f(a, **k)»", None),
    ],
)
def test_remove_keyword(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, call: remove_keyword(call, "k")) == after


ARGUMENT = st.sampled_from(["a", "(a)", "'é'", "x[1:2]", "lambda: 0", "a if b else c", "g(\n1,\n)", "(\na)"])
GAP = st.sampled_from(["", " ", "\n", "\n    ", "  # é\n  "])
ARGUMENTS = st.lists(st.tuples(GAP, st.sampled_from(["", "k=", "m=", "n="]), ARGUMENT, GAP), max_size=5)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call in all manner of layouts, with no keyword twice and no positional argument behind a keyword."""
    parts, seen = [], set()
    for before, keyword, value, behind in sorted(draw(ARGUMENTS), key=lambda p: bool(p[1])):
        if keyword and keyword in seen:
            continue
        seen.add(keyword)
        parts.append(f"{before}{keyword}{value}{behind}")
    comma = draw(st.sampled_from(["", ",", " , "])) if parts else ""
    return f"f({','.join(parts)}{comma}{draw(GAP)})"


def parsed(program: bytes) -> ast.Call:
    call = ast.parse(program).body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    return call.value


@settings(max_examples=500, deadline=None)
@given(text=calls(), remove=st.booleans())
def test_other_arguments_stay(text: str, remove: bool) -> None:
    program = f"{text}\n".encode()
    unit = unit_at(decode(program, "m.py"), 0)
    call = unit.tree.body[0].body[0].value  # type: ignore[union-attr, index]
    assert isinstance(call, cst.Call)
    fix = resolve(remove_keyword(call, "k") if remove else set_keyword(call, "k", "7"), unit)
    old = parsed(program)
    if fix is None:
        assert not remove or "#" in text or all(k.arg != "k" for k in old.keywords)
        assert remove
        return
    new = parsed(apply(program, [fix])[0])
    assert [ast.dump(a) for a in new.args] == [ast.dump(a) for a in old.args]
    values = {k.arg: ast.dump(k.value) for k in new.keywords}
    expected = {k.arg: ast.dump(k.value) for k in old.keywords if k.arg != "k"}
    assert values == (expected if remove else expected | {"k": ast.dump(ast.Constant(7))})
    assert text.count("#") == apply(program, [fix])[0].count(b"#")
