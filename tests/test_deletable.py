"""Where a `del` is right: never before a reading, never where the name may be unbound."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchmemlint.flow.deletable import deletable


def right(text: str) -> bool:
    """May `x` be deleted behind the statement marked `HERE`?"""
    tree = cst.parse_module(textwrap.dedent(text))
    function = next(s for s in tree.body if isinstance(s, cst.FunctionDef))
    parameters = {p.name.value for p in function.params.params}
    return deletable(function.body, parameters, marked(function), ["x"])


def marked(node: cst.CSTNode) -> cst.CSTNode:
    def is_marked(line: cst.CSTNode) -> bool:
        comment = getattr(getattr(line, "trailing_whitespace", None), "comment", None)
        header = getattr(getattr(line, "body", None), "header", None)
        return any(c is not None and c.value == "# HERE" for c in (comment, getattr(header, "comment", None)))

    waiting = [node]
    while waiting:
        found = waiting.pop()
        if is_marked(found):
            return found
        waiting.extend(found.children)
    raise AssertionError("no statement is marked")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = f()\ng(x)  # HERE\nh()", True),
        ("x = f()\ng(x)  # HERE\nh(x)", False),
        ("x = f()\ng(x)  # HERE\nx = 1\nh(x)", True),
        ("x = f()\ng(x)  # HERE\ndel x", False),
        ("x = f()\ng(x)  # HERE\nprint(locals())", False),
        ("x = f()\nh = lambda: x\ng(x)  # HERE", False),
        ("x = f()\ndef h():\n    return x\ng(x)  # HERE", False),
        ("global x\nx = f()\ng(x)  # HERE", False),
        ("g(x)  # HERE", False),
        ("g(a)  # HERE", False),
        ("if a:\n    x = f()\ng()  # HERE", False),
        ("if a:\n    x = f()\nelse:\n    x = 1\ng()  # HERE", True),
        ("x = f()\nif a:\n    del x\ng()  # HERE", False),
        ("x = f()\nif a:\n    return x\ng()  # HERE", True),
        ("for i in a:\n    x = f(i)\ng()  # HERE", False),
        ("for x in a:\n    g(x)  # HERE", True),
        ("x = f()\nfor i in a:\n    g(x)  # HERE", False),
        ("x = f()\nfor i in a:\n    g(x)  # HERE\n    x = h(i)", True),
        ("x = f()\nfor i in a:\n    g(x)  # HERE\n    if i: continue\n    x = h(i)", False),
        ("x = f()\nfor i in a:\n    g(x)  # HERE\n    if i: break\n    x = h(i)", True),
        ("x = f()\nfor i in a:\n    g(x)  # HERE\n    if i: break\n    x = h(i)\nh(x)", False),
        ("x = f()\nwhile g(x):\n    h()  # HERE\n    x = f()", True),
        ("x = f()\nwhile g(x):\n    h()  # HERE", False),
        ("try:\n    x = f()\nexcept E:\n    pass\ng()  # HERE", False),
        ("x = f()\ntry:\n    g(x)  # HERE\n    h()\nexcept E:\n    print(x)", False),
        ("x = f()\ntry:\n    g(x)  # HERE\nfinally:\n    print(x)", False),
        ("x = f()\ntry:\n    g(x)  # HERE\nfinally:\n    h()", True),
        ("with c as x:\n    g(x)  # HERE", True),
        ("x = f()\ng([x for x in a])  # HERE\nh([x for y in a])", False),
        ("x = f()\nmatch a:\n    case 1:\n        g(x)  # HERE\n    case _:\n        h(x)", True),
        ("x = f()\nx += 1  # HERE\nh()", True),
        ("x = f()  # HERE\nx += 1", False),
        ("return 1\nx = f()\ng()  # HERE", True),
    ],
)
def test_places(body: str, expected: bool) -> None:
    assert right("def work(a):\n" + textwrap.indent(body, "    ") + "\n") is expected


def test_parameters_are_bound() -> None:
    assert right("def work(x):\n    g(x)  # HERE\n    h()\n")
    assert not right("def work(x):\n    if x:\n        del x\n    g()  # HERE\n")


STATEMENTS = st.recursive(
    st.sampled_from(["x = 0", "use(x)", "pass", "if c(): return", "x = x + 1", "del x", "y = 1"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("\n".join),
        st.tuples(st.sampled_from(["if c():", "for i in r():", "while c():"]), inner).map(
            lambda p: f"{p[0]}\n" + textwrap.indent(p[1], "    ")
        ),
        st.tuples(inner, inner).map(
            lambda p: "if c():\n" + textwrap.indent(p[0], "    ") + "\nelse:\n" + textwrap.indent(p[1], "    ")
        ),
        st.tuples(inner, st.sampled_from(["break", "continue"])).map(
            lambda p: "for i in r():\n" + textwrap.indent(f"{p[0]}\nif c(): {p[1]}\nx = 2", "    ")
        ),
        st.tuples(inner, inner).map(
            lambda p: (
                "try:\n"
                + textwrap.indent(f"{p[0]}\nt()", "    ")
                + "\nexcept KeyError:\n"
                + textwrap.indent(p[1], "    ")
            )
        ),
    ),
    max_leaves=8,
)


def outcome(text: str, decisions: list[bool]) -> object:
    """What the program does under some decisions: the values it uses, and the error it ends in."""
    used: list[object] = []
    left = list(decisions)

    def c() -> bool:
        if not left:
            raise StopIteration
        return left.pop()

    def t() -> None:
        if c():
            raise KeyError

    space = {"c": c, "t": t, "use": used.append, "r": lambda: range(2 if c() else 0)}
    exec(compile(text, "program.py", "exec"), space)
    try:
        space["work"](5)  # type: ignore[operator]
    except (NameError, StopIteration) as error:
        return used, type(error)
    return used, None


@settings(max_examples=300, deadline=None)
@given(before=STATEMENTS, after=STATEMENTS, decisions=st.lists(st.booleans(), max_size=12))
def test_a_program_does_the_same_with_the_deletion(before: str, after: str, decisions: list[bool]) -> None:
    body = f"{before}\nuse(0)  # HERE\n{after}"
    for text in (body, f"for i in r():\n{textwrap.indent(body, '    ')}"):
        program = "def work(a):\n" + textwrap.indent(text, "    ") + "\n"
        if right(program):
            again = program.replace("use(0)  # HERE", "use(0); del x")
            assert outcome(again, decisions) == outcome(program, decisions)
