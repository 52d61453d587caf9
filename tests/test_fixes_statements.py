"""Whole statements deleted, inserted and replaced, by lines."""

from __future__ import annotations

import libcst as cst
import pytest
from fixing import STATEMENT, fixed, unit_at

from torchmemlint.fixes import (
    Plan,
    apply,
    combine,
    delete_statement,
    insert_after,
    insert_before,
    replace_statement,
    resolve,
)
from torchmemlint.flow.units import Unit
from torchmemlint.source import decode


def deleted(unit: Unit, *nodes: cst.CSTNode) -> Plan:
    return delete_statement(*nodes)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\n«del x»\nb = 2\n", "a = 1\nb = 2\n"),
        ("a = 1\n«del x»  # free\nb = 2\n", "a = 1\nb = 2\n"),
        ("a = 1\n«del x»", "a = 1\n"),
        ("«del x»\n", ""),
        ("a = 1\n«f(\n  x,  # why\n)»\nb = 2\n", "a = 1\nb = 2\n"),
        ("a = 1\n\n\n# note\n«del x»;\n\nb = 2\n", "a = 1\n\n\n# note\n\nb = 2\n"),
        ("if a:\n    «del x»  # free\n", "if a:\n    pass  # free\n"),
        ("if a:\n    «del x»;  # free\n", "if a:\n    pass  # free\n"),
        ("if a:\n    «del x»\n    b\n", "if a:\n    b\n"),
        ("if a: «del x»\n", "if a: pass\n"),
        ("if a: «del x»;\n", "if a: pass;\n"),
        ("if a: «del x»; b\n", "if a: b\n"),
        ("if a: b; «del x»\n", "if a: b\n"),
        ("«del x»; a = 1\n", "a = 1\n"),
        ("a = 1; «del x»\n", "a = 1\n"),
        ("a = 1; «del x»;  # free\n", "a = 1;  # free\n"),
        ("a = 1 ; «del x» ; b = 2\n", "a = 1 ; b = 2\n"),
        ("a = 1; \\\n  «del x»\nb\n", "a = 1\nb\n"),
        ("a = 'é'; «del ü»; b = 'ß'\n", "a = 'é'; b = 'ß'\n"),
        ("\t \nif a:\n\t«del x»\n\tb\n", "\t \nif a:\n\tb\n"),
        ("a\n\f\nif a:\n    «del x»  # \f\n\f\n    c\n", "a\n\f\nif a:\n\f\n    c\n"),
        ("if a:\n    b\n«if c:\n    d\n    # end\nelse:\n    e»\nf\n", "if a:\n    b\nf\n"),
        ("if a:\n    «for x in y:\n        z»\n", "if a:\n    pass\n"),
        ("def f():\n    g()\n    «del x»\n    return 1\n", "def f():\n    g()\n    return 1\n"),
        ("class C:\n    def f(self):\n        «del x»\n", "class C:\n    def f(self):\n        pass\n"),
        (
            "class C:\n    def f(self):\n        '''d'''\n        «del x»\n",
            "class C:\n    def f(self):\n        '''d'''\n",
        ),
        ("def f():\n    @d\n    «def g():\n        pass»\n    return 1\n", "def f():\n    return 1\n"),
        ("«def f():\n    g()»\n", None),
        ("class C:\n    «def f(self):\n        g()»\n", None),
    ],
)
def test_delete_statement(before: str, after: str | None) -> None:
    assert fixed(before, deleted, STATEMENT) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a:\n    «b»\n    «c»\n", "if a:\n    pass\n"),
        ("if a:\n    «b»; «c»\n    d\n", "if a:\n    d\n"),
        ("if a: «b»; «c»\n", "if a: pass\n"),
        ("a; «b»; «c»\n", "a\n"),
        ("«a»; «b»; c; «d»\n", "c\n"),
        ("if a:\n    «b»; «c»\n", "if a:\n    pass\n"),
    ],
)
def test_statements_deleted_together_leave_no_empty_block(before: str, after: str) -> None:
    assert fixed(before, deleted, STATEMENT) == after
    assert fixed(before, lambda u, *nodes: combine([delete_statement(n) for n in nodes], "all"), STATEMENT) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«a»\nb\n", "a\ndel x\nb\n"),
        ("«a»  # note\nb\n", "a  # note\ndel x\nb\n"),
        ("«a»", "a\ndel x"),
        ("«a»; b\n", "a; del x; b\n"),
        ("a; «b»\nc\n", "a; b\ndel x\nc\n"),
        ("a; «b»;\nc\n", "a; b;\ndel x\nc\n"),
        ("if a:\n\t«b»\nc\n", "if a:\n\tb\n\tdel x\nc\n"),
        ("if a: «b»\n", None),
        ("if a:\n    b\n    «for i in x:\n        c\n        # end»\nd\n", "=same"),
        ("if 1:\n    «f(\n  a)»\n", "if 1:\n    f(\n  a)\n    del x\n"),
        ("if 1:\n    «s = '''\n  a\n'''»\nb\n", "if 1:\n    s = '''\n  a\n'''\n    del x\nb\n"),
        ("«if a: b»\nc\n", "if a: b\ndel x\nc\n"),
        ("«def f():\n    a\n    b»\nc\n", "def f():\n    a\n    b\ndel x\nc\n"),
    ],
)
def test_insert_after(before: str, after: str | None) -> None:
    if after == "=same":
        before = "if a:\n    b\n    «for i in x:\n        c»\n        # end\nd\n"
        after = "if a:\n    b\n    for i in x:\n        c\n    del x\n        # end\nd\n"
    assert fixed(before, lambda unit, node: insert_after(node, "del x"), STATEMENT) == after


def test_insert_after_a_function_that_the_module_leaves_out() -> None:
    """The module's unit has `0` in the place of `f`; the new line goes behind the whole of it."""
    before = (
        "x = 1\nif x:\n    def f():\n        a\n\n        b\n    «y = 2»\n\n"
        "class C:\n    def g(self):\n        a\n        b\n"
    )

    def around(unit: Unit, node: cst.CSTNode) -> Plan:
        assert unit.function.name == ""
        outer = unit.tree.body[1]
        assert isinstance(outer, cst.If)
        inner = outer.body.body[0]
        return combine([insert_after(node, "c = 1"), insert_after(inner, "d = 1"), insert_after(outer, "e = 1")], "")

    assert fixed(before, around, STATEMENT) is None  # two insertions at one place: which comes first is not said
    alone = fixed(before, lambda unit, node: insert_after(unit.tree.body[1].body.body[0], "d = 1"), STATEMENT)
    assert alone == before.replace("«y = 2»", "d = 1\n    y = 2")
    last = fixed(before, lambda unit, node: insert_after(unit.tree.body[2], "d = 1"), STATEMENT)
    assert last == before.replace("«", "").replace("»", "") + "d = 1\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\n«b»\n", "a\nwith c:\n    x = 1\nb\n"),
        ("if a:\n\t«b»\n", "if a:\n\twith c:\n\t    x = 1\n\tb\n"),
        ("a; «b»\n", None),
        ("if a: «b»\n", None),
        ("def f():\n    «'''doc'''»\n    a\n", None),
        ("from __future__ import annotations\n«b»\n", "from __future__ import annotations\nwith c:\n    x = 1\nb\n"),
    ],
)
def test_insert_before(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, node: insert_before(node, "with c:\n    x = 1"), STATEMENT) == after


def test_insert_before_decorators_and_between_semicolons() -> None:
    def before(unit: Unit, node: cst.CSTNode) -> Plan:
        return insert_before(node, "x = 1")

    text = "def f():\n    @d\n    «def g():\n        pass»\n"
    assert fixed(text, before, STATEMENT) == "def f():\n    x = 1\n    @d\n    def g():\n        pass\n"
    assert fixed("a; «b»\n", before, STATEMENT) == "a; x = 1; b\n"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("«a = 1»  # note\n", "b = 2", "b = 2  # note\n"),
        ("if c:\n    «a = 1»\n", "b = 2\nd = 3", "if c:\n    b = 2\n    d = 3\n"),
        ("a; «b»; c\n", "d", "a; d; c\n"),
        ("a; «b»; c\n", "d\ne", None),
        ("if a: «b»\n", "c", "if a: c\n"),
        ("if a: «b»\n", "while c: d", None),
        ("«f(  # why\n)»\n", "g()", None),
        ("«a»;\nb\n", "if c:\n    d", "if c:\n    d\nb\n"),
        ("«if a:\n    b»\nc\n", "d", "d\nc\n"),
        ("«a = 1»\n", "a = 1", None),
    ],
)
def test_replace_statement(before: str, text: str, after: str | None) -> None:
    assert fixed(before, lambda unit, node: replace_statement(node, text), STATEMENT) == after


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_the_file_are_kept(newline: str) -> None:
    def raw(text: str) -> bytes:
        return b"\xef\xbb\xbf" + text.encode()

    def both(unit: Unit, first: cst.CSTNode, second: cst.CSTNode) -> Plan:
        return combine([insert_after(first, "if é:\n    c"), delete_statement(second)], "both")

    before = "s = 'ä'\nif a:\n    «b»\n    x\n    «d»\n    e\n"
    after = "s = 'ä'\nif a:\n    b\n    if é:\n        c\n    x\n    e\n"
    assert fixed(before.replace("\n", newline), both, STATEMENT, raw) == after.replace("\n", newline)


def test_text_that_the_file_cannot_hold_is_not_inserted() -> None:
    def raw(text: str) -> bytes:
        return text.encode("latin-1")

    head = "# -*- coding: latin-1 -*-\ns = 'é'; "
    assert fixed(head + "«a»\n", lambda u, n: insert_after(n, "b = 'ü'"), STATEMENT, raw) == head + "a\nb = 'ü'\n"
    assert fixed(head + "«a»\n", lambda u, n: insert_after(n, "b = '€'"), STATEMENT, raw) is None


def test_spans_that_are_off_give_no_fix() -> None:
    """libcst drops form feeds before code, so what follows lies elsewhere than it says."""
    source = decode(b"a\n\x0cb\nc\n", "m.py")
    unit = unit_at(source, 0)
    assert resolve(delete_statement(unit.tree.body[2]), unit) is None
    assert resolve(delete_statement(unit.tree.body[0]), unit) is None


def test_the_block_put_around_a_method_is_never_edited() -> None:
    source = decode(b"class C:\n    x = 1\n    def f(self):\n        pass\n", "m.py")
    unit = unit_at(source, source.data.index(b"pass"))
    around = unit.tree.body[0]
    assert isinstance(around, cst.If)
    for plan in (delete_statement(around), insert_before(around, "x"), replace_statement(around, "x")):
        assert resolve(plan, unit) is None
    inserted = resolve(insert_before(around.body.body[0], "y = 2"), unit)
    assert inserted is not None
    assert apply(source.data, [inserted])[0] == source.data.replace(b"def", b"y = 2\n    def")
