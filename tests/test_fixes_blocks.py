"""Decorators, `with` blocks and imports: what moves, what must not, and where they are refused."""

from __future__ import annotations

import libcst as cst
import pytest
from fixing import STATEMENT, fixed, marked, unit_at

from torchmemlint.fixes import (
    Plan,
    add_decorator,
    add_import,
    apply,
    combine,
    enter_bare_context,
    resolve,
    spell,
    wrap_in_with,
)
from torchmemlint.fixes.blocks import _same_program
from torchmemlint.flow.units import Unit

NO_GRAD = "torch.no_grad()"


def decorated(unit: Unit, node: cst.CSTNode) -> Plan:
    return add_decorator(unit, node, NO_GRAD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«def f():\n    pass»\n", "@torch.no_grad()\ndef f():\n    pass\n"),
        ("x = 1\n\n\n«def f(): pass»", "x = 1\n\n\n@torch.no_grad()\ndef f(): pass"),
        ("@app.route('/é')\n«def f():\n    pass»\n", "@app.route('/é')\n@torch.no_grad()\ndef f():\n    pass\n"),
        (
            "class C:\n\t@classmethod  # why\n\t# more\n\t«def f(cls):\n\t\tpass»\n",
            "class C:\n\t@classmethod  # why\n\t# more\n\t@torch.no_grad()\n\tdef f(cls):\n\t\tpass\n",
        ),
        (
            "class C:\n  @staticmethod\n  @other\n  «def f():\n    pass»\n",
            "class C:\n  @staticmethod\n  @other\n  @torch.no_grad()\n  def f():\n    pass\n",
        ),
        ("def g():\n    «def f():\n        pass»\n", "def g():\n    @torch.no_grad()\n    def f():\n        pass\n"),
        (
            "«def f():\n    def g():\n        yield 1»\n",
            "@torch.no_grad()\ndef f():\n    def g():\n        yield 1\n",
        ),
        ("«async def f():\n    pass»\n", None),
        ("«def f():\n    yield x»\n", None),
        ("«def f():\n    y = [(yield x)]»\n", None),
        ("«def f():\n    yield from x»\n", None),
        ("def g():\n    «def f():\n        yield x»\n", None),
        ("@torch.no_grad()\n«def f():\n    pass»\n", None),
        ("@torch.jit.script\n«def f():\n    pass»\n", None),
        ("@jit(nopython=True)\n«def f():\n    pass»\n", None),
        ("«class C:\n    pass»\n", None),
    ],
)
def test_add_decorator(before: str, after: str | None) -> None:
    assert fixed(before, decorated, STATEMENT) == after


def wrapped(unit: Unit, first: cst.CSTNode, last: cst.CSTNode | None = None) -> Plan:
    return wrap_in_with(unit, first, last or first, NO_GRAD)


HEAD = "with torch.no_grad():\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\n«b»\n«c»\nd\n", f"a\n{HEAD}    b\n    c\nd\n"),
        ("«b»", f"{HEAD[:-1]}\n    b"),
        ("«b»  # é\n\n# note\n«c»  # end\nd\n", f"{HEAD}    b  # é\n\n    # note\n    c  # end\nd\n"),
        ("if x:\n\t«b»\n\tz\n\t«c»\n", "if x:\n\twith torch.no_grad():\n\t\tb\n\t\tz\n\t\tc\n"),
        ("if x:\n  «b»\n", "if x:\n  with torch.no_grad():\n    b\n"),
        (
            "if x:\n   y\n«for i in x:\n   c\n   # c\nelse:\n   d»\n",
            f"if x:\n   y\n{HEAD}   for i in x:\n      c\n      # c\n   else:\n      d\n",
        ),
        ("«f(\n  a,\nb)»\n", f"{HEAD}    f(\n      a,\n    b)\n"),
        ("«a = \\\n  b»\n", f"{HEAD}    a = \\\n      b\n"),
        ("«s = '''\n  é\n\n'''»\n«b»\n", f"{HEAD}    s = '''\n  é\n\n'''\n    b\n"),
        ("«s = f'''\n  {x}\n'''»\n", f"{HEAD}    s = f'''\n  {{x}}\n'''\n"),
        ("«s = 'a\\\n  b'»\n", f"{HEAD}    s = 'a\\\n  b'\n"),
        ("«f('''\n a''',\n  b)»\n", f"{HEAD}    f('''\n a''',\n      b)\n"),
        ("if x:\n    «a»\n# low\n    «b»\n", "if x:\n    with torch.no_grad():\n        a\n    # low\n        b\n"),
        (
            "def f():\n    «x = 1»\n    «return x»\n",
            "def f():\n    with torch.no_grad():\n        x = 1\n        return x\n",
        ),
        (
            "class C:\n  def f(self):\n    @d\n    «def g():\n      yield 1»\n    «x = g»\n",
            "class C:\n  def f(self):\n    with torch.no_grad():\n"
            "      @d\n      def g():\n        yield 1\n      x = g\n",
        ),
        ("a; «b»\n", None),
        ("«a»; b\n", None),
        ("if x: «a»\n", None),
        ("if x:\n    «a»\n«b»\n", None),
        ("def f():\n    «x = yield»\n", None),
        ("async def f():\n    «x = await y»\n", None),
        ("async def f():\n    «async with x:\n        y»\n", None),
        ("def f():\n    «'''doc'''»\n    «x»\n", None),
        ("«from __future__ import annotations»\n", None),
        ("«def f():\n    pass»\n", None),
    ],
)
def test_wrap_in_with(before: str, after: str | None) -> None:
    assert fixed(before, wrapped, STATEMENT) == after


def test_wrap_keeps_carriage_returns_and_function_bodies() -> None:
    before = "x = 1\r\n«if x:\r\n    def f():\r\n        s = '''\r\n  a'''\r\n\r\n        return 'é'»\r\ny\r\n"
    after = (
        "x = 1\r\nwith torch.no_grad():\r\n    if x:\r\n        def f():\r\n            s = '''\r\n  a'''\r\n"
        "\r\n            return 'é'\r\ny\r\n"
    )

    def whole_if(unit: Unit, node: cst.CSTNode) -> Plan:
        assert unit.function.name == ""
        return wrapped(unit, unit.tree.body[1])

    marks = before.replace("«if", "if").replace("»", "").replace("x = 1", "«x = 1»")
    assert fixed(marks, whole_if, STATEMENT) == after


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ("    with c:\n        a\n        b = '''\n  d'''\n", True),
        ("    with c:\n        a\n        b = '''\n      d'''\n", False),
        ("    with c:\n        a\n    b = '''\n  d'''\n", False),
        ("    with c:\n        b = '''\n  d'''\n", False),
        ("    if c:\n        a\n        b = '''\n  d'''\n", False),
        ("    with c:\n    a\n", False),
    ],
)
def test_a_wrapped_program_is_compared_with_the_old_one(after: str, same: bool) -> None:
    assert _same_program("    a\n    b = '''\n  d'''\n", after, True) is same


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«torch.no_grad()»\na\nb\n", f"{HEAD}    a\n    b\n"),
        ("«torch.no_grad()»  # eval\n\n# go\na", "with torch.no_grad():  # eval\n\n    # go\n    a"),
        ("«torch.no_grad()»;\na\n", f"{HEAD}    a\n"),
        (
            "def f():\n\tm.eval()\n\t«torch.no_grad()»\n\tfor x in y:\n\t\tm(x)\n\treturn x\n",
            "def f():\n\tm.eval()\n\twith torch.no_grad():\n\t\tfor x in y:\n\t\t\tm(x)\n\t\treturn x\n",
        ),
        (
            "class C:\n    def f(self):\n        if a:\n            «torch.no_grad()»\n            b\n        c\n",
            "class C:\n    def f(self):\n        if a:\n"
            "            with torch.no_grad():\n                b\n        c\n",
        ),
        ("«torch.no_grad()»\n", None),
        ("if a:\n    «torch.no_grad()»\nb\n", None),
        ("«torch.no_grad()»; a\nb\n", None),
        ("if a: «torch.no_grad()»\nb\n", None),
        ("def f():\n    «torch.no_grad()»\n    yield x\n", None),
        ("«x = torch.no_grad()»\na\n", None),
    ],
)
def test_enter_bare_context(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, node: enter_bare_context(node), STATEMENT) == after


def test_enter_bare_context_under_another_text() -> None:
    def entered(unit: Unit, node: cst.CSTNode) -> Plan:
        return enter_bare_context(node, NO_GRAD)

    assert fixed("«torch.no_grad»\na\n", entered, STATEMENT) == f"{HEAD}    a\n"


@pytest.mark.parametrize(
    ("before", "spelled"),
    [
        ("import torch\n«x»\n", "torch.no_grad"),
        ("import torch as th\n«x»\n", "th.no_grad"),
        ("from torch import no_grad as ng\n«x»\n", "ng"),
        ("import torch.nn\n«x»\n", "torch.no_grad"),
        ("import torch\ndef f():\n    return «x»\n", "torch.no_grad"),
        ("from torch import nn\n«x»\n", None),
        ("import torch.nn as nn\n«x»\n", None),
        ("from torch import *\n«x»\n", None),
        ("if TYPE_CHECKING:\n    import torch\n«x»\n", None),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n«x»\n", None),
        ("import torch\ntorch = other\n«x»\n", None),
        ("import torch\ndef g():\n    global torch\n    torch = 1\n«x»\n", None),
        ("import torch\nimport paddle as torch\n«x»\n", None),
        ("import torch\ndef f(torch):\n    return «x»\n", None),
        ("import torch\nclass C:\n    def f(self):\n        torch = 1\n        return «x»\n", None),
        ("def f():\n    import torch\n    return «x»\n", None),
        ("from .torch import no_grad\n«x»\n", None),
    ],
)
def test_spell(before: str, spelled: str | None) -> None:
    source, spans = marked(before)
    assert spell(unit_at(source, spans[0][0]), "torch.no_grad") == spelled


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", "import torch\nx = 1\n"),
        ("#!/usr/bin/env python\n# é\n\n@d\nclass C:\n    pass\n", "=before-class"),
        ('"""doc\n\nmore"""\nx = 1\n', '"""doc\n\nmore"""\nimport torch\nx = 1\n'),
        ("'''doc'''\nfrom __future__ import annotations\nx = 1\n", "=after-line-2"),
        ("import os  # é\nfrom a import (\n    b,\n)\nx = 1\nimport z\n", "=after-line-4"),
        ("import os; x = 1; y = (\n  2)\nz = 3\n", "=after-line-2"),
        ("import os", "import os\nimport torch"),
        ("import torch\nx = 1\n", "=nothing"),
        ("import torch.nn\nx = 1\n", "=nothing"),
        ("torch = 1\n", None),
        ("import paddle as torch\n", None),
        ("if a:\n    import torch\n", None),
    ],
)
def test_add_import(before: str, after: str | None) -> None:
    lines = before.splitlines(keepends=True)
    if after is not None and after.startswith("=after-line-"):
        row = int(after.rpartition("-")[2])
        after = "".join([*lines[:row], "import torch\n", *lines[row:]])
    elif after == "=before-class":
        after = before.replace("@d", "import torch\n@d")
    source, _ = marked(before)
    unit = unit_at(source, 0)
    assert imported(before, unit) == (None if after == "=nothing" else after)


def imported(before: str, unit: Unit) -> str | None:
    fix = resolve(add_import(unit, "import torch"), unit)
    return None if fix is None else apply(unit.source.data, [fix])[0].decode()


def test_an_import_that_is_there_does_not_stop_the_rest_of_a_plan() -> None:
    def both(unit: Unit, node: cst.CSTNode) -> Plan:
        return combine([add_import(unit, "import torch"), wrap_in_with(unit, node, node, NO_GRAD)], "both")

    assert fixed("import torch\n«x»\n", both, STATEMENT) == f"import torch\n{HEAD}    x\n"
    assert fixed("import os\ny\n«x»\n", both, STATEMENT) == f"import os\nimport torch\ny\n{HEAD}    x\n"
    assert fixed("import os\n«x»\n", both, STATEMENT) == f"import os\nimport torch\n{HEAD}    x\n"
    assert fixed("torch = 1\n«x»\n", both, STATEMENT) is None
