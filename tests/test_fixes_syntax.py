"""Fixes inside whatever syntax Python has had since 3.8: only the fixed call changes. What the running Python can't
parse is left to newer ones."""

from __future__ import annotations

import textwrap

import pytest

from torchmemlint.api import fix_source
from torchmemlint.config import Config

HEAD = "import torch\n\n\ndef work(x: torch.Tensor, net=None):\n"
OLD, NEW = "x.clone().detach()", "x.detach().clone()"
BODIES = {
    "3.8 walrus": "if (y := OLD) is not None:\n    return y",
    "3.8 debugging f-string": "y = OLD\nreturn f'{y=} {y.sum():>{10}} {{}}'",
    "3.8 positional only": "def inner(a, /, b, *, c=1):\n    return a\n\n\nreturn inner(OLD, 2)",
    "3.8 continue in finally": "for _ in (1,):\n    try:\n        y = OLD\n    finally:\n        continue\nreturn x",
    "3.9 decorator expressions": "@(lambda f: f)\ndef inner():\n    return 1\n\n\nreturn OLD, inner()",
    "3.9 with in parentheses": "with (open(__file__), open(__file__) as f,):\n    y = OLD  # why\nreturn y",
    "3.10 match": "match x:\n    case torch.Tensor(shape=[*_, 2]) if x.dim():\n        return OLD\nreturn x",
    "3.11 except star": "try:\n    y = OLD\nexcept* ValueError as e:\n    y = e\nreturn y",
    "3.11 starred subscript": "s = (0,)\nreturn OLD[*s], x",
    "3.12 type parameters": "def inner[T: int](a: T) -> T:\n    return a\n\n\ntype L[T] = list[T]\nreturn OLD",
    "3.12 nested f-string": 'return OLD, f"{f"{x["a"]}" + \'\\n\'}"',
    "3.13 defaults": "class Box[T = int]:\n    pass\n\n\nreturn OLD",
    "3.14 except without parentheses": "try:\n    return OLD\nexcept ValueError, TypeError:\n    return x",
    "3.14 template string": "return OLD, t'{x} {x!r:>{10}}'",
    "semicolons": "y = 1; z = OLD; return z  # tail",
    "one-line suite": "if x is not None: return OLD\nreturn x",
    "continuation": "y = \\\n    OLD \\\n    + 1\nreturn y",
    "string over lines": 's = """\n  a\n\tb"""; y = OLD\nreturn y, s',
    "tabs": "if x is not None:\n\ty = OLD\n\tif y is not None:\n\t\treturn y\nreturn x",
    "form feed": "y = 1\n\x0c\nz = OLD\nreturn z",
    "lambda and comprehension": "f = lambda: [OLD for _ in range(2) if (z := 1)]\nreturn OLD, f()",
    "star expressions": "a, *b = OLD, 1, 2\nreturn [*b, *(OLD,)], {**{}, 'k': OLD}",
    "coroutine": "async def inner():\n    async with net as n:\n        return [i async for i in n]\n\n\nreturn OLD",
    "numbers and ellipsis": "y = OLD[..., 0:1_0] if 0x_f else -1e-1j\nreturn y",
    "annotations": "y: 'torch.Tensor' = OLD\nz: int\nreturn y",
    "global and nonlocal": "n = 0\n\n\ndef inner():\n    global G\n    nonlocal n\n    n = OLD\n\n\nreturn OLD",
    "deleted and asserted": "y = OLD\nassert y is not None, 'äöü'\ndel (y)\nreturn x",
}


def old(body: str, newline: str = "\n") -> str:
    """The program with the call to fix, if this Python can parse it."""
    text = program(body.replace("OLD", OLD)).replace("\n", newline)
    try:
        compile(text, "program.py", "exec")
    except SyntaxError:
        pytest.skip("newer than this Python")
    return text


def program(body: str) -> str:
    return HEAD + textwrap.indent(body, "    ", lambda line: bool(line.strip(" \n"))) + "\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_only_the_call_changes(body: str, newline: str) -> None:
    fixed = fix_source(old(body, newline), "program.py", Config(select=("TML304",)))
    assert fixed == program(body.replace("OLD", NEW)).replace("\n", newline)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_all_fixes_leave_a_program(body: str) -> None:
    fixed = fix_source(old(body), "program.py", Config(select=("ALL",)), unsafe=True)
    compile(fixed, "program.py", "exec")
    assert OLD not in fixed
