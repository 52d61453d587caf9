"""Fixes of expressions: parentheses where the grammar wants them, and nothing else changed."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from fixing import fixed, marked, node_at, unit_at
from hypothesis import given, settings
from hypothesis import strategies as st

from torchmemlint.fixes import (
    Plan,
    apply,
    call_method,
    combine,
    expression_text,
    rename_attribute,
    replace,
    replace_call,
    resolve,
    swap_calls,
    unwrap_call,
)
from torchmemlint.fixes.plan import Ground
from torchmemlint.flow.lean import children
from torchmemlint.flow.units import Unit
from torchmemlint.source import decode


def detached(unit: Unit, *nodes: cst.CSTNode) -> Plan:
    return combine([call_method(node, "detach") for node in nodes], "detach")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = «x»", "y = x.detach()"),
        ("y = «x.y[0](z)»", "y = x.y[0](z).detach()"),
        ("y = «a + b»", "y = (a + b).detach()"),
        ("y = («a + b»)", "y = (a + b).detach()"),
        ("y = (( «a + b» ))", "y = (( a + b )).detach()"),
        ("y = a + «b»", "y = a + b.detach()"),
        ("y = «a» ** 2", "y = a.detach() ** 2"),
        ("y = -«x»", "y = -x.detach()"),
        ("y = «-x»", "y = (-x).detach()"),
        ("y = «not x»", "y = (not x).detach()"),
        ("y = «a if c else b»", "y = (a if c else b).detach()"),
        ("y = «x[0]»if c else z", "y = x[0].detach()if c else z"),
        ("y = «a < b < c»", "y = (a < b < c).detach()"),
        ("y = «a and b»", "y = (a and b).detach()"),
        ("y = «lambda: x»", "y = (lambda: x).detach()"),
        ("y = lambda: «x»", "y = lambda: x.detach()"),
        ("y = «1»", "y = (1).detach()"),
        ("y = «1.5»", "y = (1.5).detach()"),
        ("y = «'a'»", "y = 'a'.detach()"),
        ("y = «a, b»", "y = (a, b).detach()"),
        ("y = («a, b»)", "y = (a, b).detach()"),
        ("y = «[a, b]»", "y = [a, b].detach()"),
        ("y = «{a: b}»", "y = {a: b}.detach()"),
        ("y = «[i for i in x]»", "y = [i for i in x].detach()"),
        ("f(«i for i in x»)", "f((i for i in x).detach())"),
        ("f((«i for i in x»))", "f((i for i in x).detach())"),
        ("if «y := f(x)»:\n    pass", "if (y := f(x)).detach():\n    pass"),
        ("if («y := f(x)»):\n    pass", "if (y := f(x)).detach():\n    pass"),
        ("f(*«a», **«b»)", "f(*a.detach(), **b.detach())"),
        ("f(*«a or b»)", "f(*(a or b).detach())"),
        ("f(«k», k=«v»)", "f(k.detach(), k=v.detach())"),
        ("y = f'{«x»}'", "y = f'{x.detach()}'"),
        ("y = f'é{«x»!r:>{w}}'", "y = f'é{x.detach()!r:>{w}}'"),
        ("y = f'{f(«a + b»)}'", "y = f'{f((a + b).detach())}'"),
        ("y = f'{x:{«w»}}'", "y = f'{x:{w.detach()}}'"),
        ("y = (a\n     + «b»)", "y = (a\n     + b.detach())"),
        ("y = («a\n     + b»  # why\n     )", "y = (a\n     + b  # why\n     ).detach()"),
        ("y = «x \\\n    .z»", "y = x \\\n    .z.detach()"),
        ('y = f("a" \'ä\', «"b"\n      "c"»)', 'y = f("a" \'ä\', ("b"\n      "c").detach())'),
        ('y = «"""a\n  b"""»', 'y = """a\n  b""".detach()'),
        ("s = 'äöü€𝄞'; y = «x»", "s = 'äöü€𝄞'; y = x.detach()"),
        ("a[«i»] = 1", "a[i.detach()] = 1"),
        ("«a».b = 1", "a.detach().b = 1"),
        ("y = «x»  # keep", "y = x.detach()  # keep"),
        ("@«deco»\ndef f(): pass", "@deco.detach()\ndef f(): pass"),
        ("def f():\n    return(«x»)", "def f():\n    return(x).detach()"),
    ],
)
def test_call_method(before: str, after: str) -> None:
    assert fixed(before, detached) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("async def f():\n    y = «await g()»\n", "async def f():\n    y = (await g()).detach()\n"),
        ("async def f():\n    y = await «g()»\n", "async def f():\n    y = await g().detach()\n"),
        ("def f():\n    y = «yield»\n", "def f():\n    y = (yield).detach()\n"),
        ("def f():\n    y = «yield x»\n", "def f():\n    y = (yield x).detach()\n"),
        ("def f():\n    y = («yield»)\n", "def f():\n    y = (yield).detach()\n"),
        (
            "class C:\n\tdef f(self):\n\t\ts = 'ß'; return «self.x»\n",
            "class C:\n\tdef f(self):\n\t\ts = 'ß'; return self.x.detach()\n",
        ),
        (
            "class C:\n  @d\n  def f(self):\n    def g():\n      return «a + b»\n",
            "class C:\n  @d\n  def f(self):\n    def g():\n      return (a + b).detach()\n",
        ),
    ],
)
def test_call_method_in_functions(before: str, after: str) -> None:
    assert fixed(before, detached) == after


@pytest.mark.parametrize(
    "text",
    [
        "«x» = 1",
        "«x», y = 1, 2",
        "[a, *«x»] = y",
        "«x» += 1",
        "for «x» in y: pass",
        "del «x»",
        "del (a, «x»)",
        "[i for «i» in x]",
        "with a as «x»: pass",
        "(«x» := 1)",
        "f(«x»=1)",
        "x.«y»",
        "import «x»",
        "import «x.y».z",
        "from «x».y import z",
        "def f():\n    global «x»",
        "f'{«x»=}'",
        "match x:\n    case «a.b»: pass",
        "match x:\n    case [*«rest»]: pass",
        "def f(«x»): pass",
        "y = 'a' «'b'»",
        "y = f'a' «'b'   'c'»",
        "def «f»(): pass",
    ],
)
def test_bindings_and_patterns_get_no_call(text: str) -> None:
    assert fixed(text, detached) is None


def test_arguments_of_the_new_call_may_not_end_an_f_string() -> None:
    def to_cpu(unit: Unit, node: cst.CSTNode) -> Plan:
        return call_method(node, "to", "'cpu'")

    assert fixed("y = f'{«x»}'", to_cpu) is None
    assert fixed("y = f'{x}', «x»", to_cpu) == "y = f'{x}', x.to('cpu')"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = «x.contiguous()»", "y = x"),
        ("y = «x.contiguous()».sum()", "y = x.sum()"),
        ("y = «(a + b).contiguous()»", "y = (a + b)"),
        ("y = «(a + b).contiguous()» * 2", "y = (a + b) * 2"),
        ("y = «x.contiguous()»if c else d", "y = x if c else d"),
        ("y = («x\n     .contiguous()»)", "y = (x)"),
        ("y = «x \\\n  .contiguous()» + 1", "y = x + 1"),
        ("y = «f(x,  # why\n      z).contiguous()»", "y = f(x,  # why\n      z)"),
        ("y = («x  # why\n     .contiguous()»)", None),
        ("y = «x.to(dtype=torch.float32)»", "y = x"),
        ("y = «contiguous(x)»", None),
        ("y = f'{«x.contiguous()»}'", "y = f'{x}'"),
        ("y = «x.contiguous()»  # tail", "y = x  # tail"),
        ("a\nx = «x.contiguous()»  # tail\nb\n", "a\nb\n"),
        ("a; x.y = «x.y.contiguous()»; b", "a; b"),
        ("if c:\n    x = «x.contiguous()»\n", None),
        ("if c: x = «x.contiguous()»\n", None),
        ("x = «x.contiguous()».clone()", "x = x.clone()"),
        ("x = y = «x.contiguous()»", "x = y = x"),
        ("x[f()] = «x[f()].contiguous()»", "x[f()] = x[f()]"),
    ],
)
def test_unwrap_call(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, call: unwrap_call(call)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = «x.clone().detach()»", "y = x.detach().clone()"),
        ("y = «f(a).clone(memory_format=m).to('cpu', True)»", "y = f(a).to('cpu', True).clone(memory_format=m)"),
        ("y = «(a + b).clone().detach()».sum()", "y = (a + b).detach().clone().sum()"),
        ("y = «(x.clone()).detach()»", "y = (x.detach()).clone()"),
        ("y = «( x.clone() ).detach()»", "y = ( x.detach() ).clone()"),
        ("y = («x.clone()  # copy\n     .detach()»)", "y = (x  # copy\n     .detach().clone())"),
        ("y = «(x\n     .clone()).detach()»", None),
        ("y = «clone(x).detach()»", None),
        ("y = «x.detach()»", None),
    ],
)
def test_swap_calls(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, call: swap_calls(call)) == after


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("y = «f(x)»", "g(x)", "y = g(x)"),
        ("y = «f(x)».z", "a + b", "y = (a + b).z"),
        ("y = «f(x)».z", "1", "y = (1).z"),
        ("y = «f(x)» * 2", "a + b", "y = (a + b) * 2"),
        ("y = («f(x)») * 2", "a + b", "y = (a + b) * 2"),
        ("y = «f(x)»", "a if b else c", "y = a if b else c"),
        ("g(«f(x)»)", "a if b else c", "g(a if b else c)"),
        ("g(*«f(x)»)", "a or b", "g(*(a or b))"),
        ("y = [i for i in «f(x)»]", "a if b else c", "y = [i for i in (a if b else c)]"),
        ("y = «f(x)»", "a, b", "y = (a, b)"),
        ("y = «f(x)»", "(a), (b)", "y = ((a), (b))"),
        ("y = «f(x)»", "(a, b)", "y = (a, b)"),
        ("y = («f(x)»).z", "a, b", "y = (a, b).z"),
        ("y = «f(x)».z", "(a, b),", "y = ((a, b),).z"),
        ("y = «f(x)»", "z := 1", "y = (z := 1)"),
        ("g(«f(x)»)", "i for i in x", "g((i for i in x))"),
        ("y = «f(x)»", "a +\n b", "y = (a +\n b)"),
        ("g(«f(x)»)", "a +\n b", "g(a +\n b)"),
        ("y = 1 if(«x»)else 2", "a", "y = 1 if(a)else 2"),
        ("y = a if«[x]»else 2", "b", "y = a if b else 2"),
        ("y = «f(x)»", "f(x", None),
        ("y = «f(x)»", "f(x)", None),
        ("y = «f(x  # why\n)»", "g(x)", None),
        ("«x» = 1", "y", None),
    ],
)
def test_replace_with_text(before: str, text: str, after: str | None) -> None:
    assert fixed(before, lambda unit, node: replace(node, text)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = «f(«x»)»", "y = torch.g(x)"),
        ("y = «f(«a if b else c»)»", "y = torch.g(a if b else c)"),
        ("y = «f(«i for i in x»)»", "y = torch.g((i for i in x))"),
        ("y = «f(«x  # why\n    + z»)»", "y = torch.g(x  # why\n    + z)"),
        ("y = «f(  # why\n    «x»)»", None),
        ("y = «f((«a, b»))»", "y = torch.g((a, b))"),
    ],
)
def test_replace_carries_nodes_over(before: str, after: str | None) -> None:
    assert fixed(before, lambda unit, call, arg: replace_call(call, "torch.g(", arg, ")")) == after


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("y = («a + b»).c", "f(a)", "y = f(a).c"),
        ("y = («a + b») * c", "a - b", "y = (a - b) * c"),
        ("y = ((«a + b»)) * c", "f(a)", "y = ((f(a))) * c"),
        ("return_(0); print((«not a»))", "f(a)", "return_(0); print(f(a))"),
        ("y = [0 for x in z if(«x @ y»)]", "f(x)", "y = [0 for x in z if f(x)]"),
        ("y = (  # why\n    «a + b»\n)", "f(a)", "y = (  # why\n    f(a)\n)"),
        ("y = (\n    «a + b»\n)", "f(a)", "y = f(a)"),
        ("y = («a + b»).c", "f\n.d", "y = (f\n.d).c"),
        ("y = («f(a)»).c", "g(a)", "y = (g(a)).c"),
    ],
)
def test_parentheses_that_the_old_expression_needed_go_with_it(before: str, text: str, after: str) -> None:
    assert fixed(before, lambda unit, node: replace(node, text)) == after


def test_replace_parenthesises_receivers() -> None:
    def method(unit: Unit, call: cst.CSTNode, arg: cst.CSTNode) -> Plan:
        return replace(call, arg, ".g()")

    assert fixed("y = «f(«a + b»)»", method) == "y = (a + b).g()"
    assert fixed("y = «f(«a\n  .b»)»", method) == "y = (a\n  .b).g()"
    assert fixed("y = «f(«-1»)» ** 2", method) == "y = (-1).g() ** 2"


def test_rename_attribute() -> None:
    def renamed(unit: Unit, node: cst.CSTNode) -> Plan:
        return rename_attribute(node, "empty")

    assert fixed("y = «torch . zeros» (3)", renamed) == "y = torch . empty (3)"
    assert fixed("y = «zeros»(3)", renamed) == "y = empty(3)"
    assert fixed("«torch.zeros» = 3", renamed) is None
    assert fixed("y = «zeros(3)»", renamed) is None


def test_nodes_of_other_trees_give_no_fix() -> None:
    source, spans = marked("y = «x»")
    unit = unit_at(source, spans[0][0])
    assert resolve(call_method(cst.Name("x"), "detach"), unit) is None
    assert resolve(unwrap_call(cst.Integer("1")), unit) is None
    with pytest.raises(ValueError, match="not a node"):
        expression_text(unit, cst.Name("x"))


def test_expression_text() -> None:
    source, spans = marked("y = f(«a + b», («c, d»))")
    unit = unit_at(source, spans[0][0])
    first, second = (node_at(unit, span, (cst.BaseExpression,)) for span in spans)
    assert expression_text(unit, first) == "(a + b)"
    assert expression_text(unit, first, loose=True) == "a + b"
    assert expression_text(unit, second) == "(c, d)"


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "é", "1", "2.5", "'s'", "x.y", "x[0]", "f(x)", "...", "()", "None"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]}) + ({p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}) if ({p[1]}) else ({p[0]})"),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"-({e})"),
        inner.map(lambda e: f"not ({e})"),
        inner.map(lambda e: f"lambda: ({e})"),
        inner.map(lambda e: f"({e}).m((\n{e}), k=({e}))"),
        inner.map(lambda e: f"[({e}), ({e})]"),
        inner.map(lambda e: f"({e}),"),
        inner.map(lambda e: f"[i for i in ({e})]"),
        inner.map(lambda e: f"g(i for i in ({e}))"),
        inner.map(lambda e: f"z := ({e})"),
        inner.map(lambda e: f"({e})[({e}):]"),
        inner.map(lambda e: f"a == ({e}) < b"),
        inner.map(lambda e: f"x ** -({e})"),
    ),
    max_leaves=6,
)


def expressions_in(node: cst.CSTNode) -> list[cst.BaseExpression]:
    own = [node] if isinstance(node, cst.BaseExpression) else []
    return own + [found for child in children(node) for found in expressions_in(child)]


def with_call_on(program: bytes, unit: Unit, node: cst.CSTNode) -> str:
    """The dump of the program's tree with the node made the receiver of a call of `detach`."""
    start, end = Ground(unit).outer(unit.twin(node))
    tree = ast.parse(program[:start] + b" (HOLE) " + program[end:])
    value = ast.parse(f"(\n{unit.text(node)}\n)", mode="eval").body

    class Filled(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return ast.Call(ast.Attribute(value, "detach", ast.Load()), [], []) if name.id == "HOLE" else name

    return ast.dump(Filled().visit(tree))


@settings(max_examples=300, deadline=None)
@given(text=EXPRESSIONS, data=st.data())
def test_call_method_binds_to_exactly_the_node(text: str, data: st.DataObject) -> None:
    """Whatever expression of a program gets the call, the program's tree is the old one with that node wrapped."""
    program = f"ü = (\n{text})\n".encode()
    source = decode(program, "m.py")
    unit = unit_at(source, 0)
    node = data.draw(st.sampled_from(expressions_in(unit.tree)))
    fix = resolve(call_method(node, "detach"), unit)
    try:
        expected = with_call_on(program, unit, node)
    except SyntaxError:  # the hole cannot stand there: a name that is bound, a keyword
        assert fix is None
        return
    if fix is not None:
        assert ast.dump(ast.parse(apply(program, [fix])[0])) == expected


@settings(max_examples=300, deadline=None)
@given(text=EXPRESSIONS, new=EXPRESSIONS, data=st.data())
def test_replaced_text_stays_one_expression(text: str, new: str, data: st.DataObject) -> None:
    """Whatever text replaces whatever node, the tree is the old one with the text's own tree in the node's place."""
    program = f"ü = (\n{text})\n".encode()
    unit = unit_at(decode(program, "m.py"), 0)
    node = data.draw(st.sampled_from(expressions_in(unit.tree)))
    fix = resolve(replace(node, new), unit)
    if fix is None:
        return
    start, end = Ground(unit).outer(unit.twin(node))
    expected = program[:start] + f" (\n{new}\n) ".encode() + program[end:]
    assert ast.dump(ast.parse(apply(program, [fix])[0])) == ast.dump(ast.parse(expected))
