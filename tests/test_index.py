"""One file's index: what is found, where it lies, what its names mean."""

from __future__ import annotations

import pytest
from indexing import function, index

from torchmemlint.index.build import index_source
from torchmemlint.source import Source


def test_functions_methods_and_nested_classes_have_ids_and_owners() -> None:
    file = index(
        """
        class Outer:
            def method(self):
                def helper(): ...
            class Inner(Outer):
                async def step(self): ...
        def plain(): ...
        """
    )
    assert set(file.functions) == {
        "pkg.mod:",
        "pkg.mod:Outer.method",
        "pkg.mod:Outer.Inner.step",
        "pkg.mod:plain",
    }
    assert function(file, "Outer.Inner.step").owner == "pkg.mod:Outer.Inner"
    assert function(file, "Outer.Inner.step").is_async
    assert function(file, "plain").owner is None
    assert file.classes["pkg.mod:Outer"].methods == {"method": "pkg.mod:Outer.method"}
    assert file.classes["pkg.mod:Outer.Inner"].bases == ("pkg.mod.Outer",)


def test_definitions_inside_compound_statements_count() -> None:
    file = index(
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            def a(): ...
        else:
            def b(): ...
        try:
            def c(): ...
        except ImportError:
            def d(): ...
        finally:
            def e(): ...
        with open("x") as handle:
            for item in handle:
                def f(): ...
            else:
                class G:
                    if True:
                        def h(self): ...
        """
    )
    assert {f.qualname for f in file.functions.values()} == {"", "a", "b", "c", "d", "e", "f", "G.h"}
    assert {"handle", "item", "G", "TYPE_CHECKING", "a", "d"} <= file.globals


def test_lines_and_columns_of_a_decorated_method() -> None:
    file = index(
        """\
        import torch
        class A:
            @torch.no_grad()
            @property
            def run(
                self,
            ):
                "doc"
                return 1
        """
    )
    info = function(file, "A.run")
    assert (info.first_line, info.line, info.body_line, info.end_line, info.column) == (3, 5, 8, 9, 4)
    assert info.decorators == ("torch.no_grad", "property")
    assert file.lines == 9


def test_a_body_that_begins_with_a_decorated_function_begins_at_the_decorator() -> None:
    info = function(index("def f():\n    @wrap\n    def g(): ...\n    return g\n"), "f")
    assert (info.body_line, info.end_line) == (2, 4)


def test_one_line_definitions() -> None:
    file = index("class A: x = 1\ndef f(a=2): return secret\ndef g(a,\n      b): return hidden\n")
    assert function(file, "f").body_line == function(file, "f").line == 2
    assert (function(file, "g").line, function(file, "g").body_line) == (3, 4)
    assert file.functions["pkg.mod:"].words == {"x"}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings(newline: str) -> None:
    text = newline.join(["import torch", "", "def f():", "    alpha = 1", "def g():", "    beta = 2", ""])
    file = index_source(Source("m.py", text.encode()), "m", False)
    assert (file.lines, file.functions["m:g"].line) == (6, 5)
    assert "alpha" in file.functions["m:f"].words
    assert "beta" in file.functions["m:g"].words
    assert "beta" not in file.functions["m:f"].words | file.functions["m:"].words


def test_form_feed_and_unicode_separators_end_no_line() -> None:
    file = index_source(Source("m.py", 'x = "\u2028 \x85"\n\x0c\ndef f():\n    inner\n'.encode()), "m", False)
    assert file.functions["m:f"].line == 3
    assert "inner" in file.functions["m:f"].words


def test_a_coding_line_is_not_believed_of_decoded_text() -> None:
    file = index_source(Source("m.py", "# -*- coding: latin-1 -*-\ndef größe(): ...\n".encode()), "m", False)
    assert "m:größe" in file.functions


def test_imports_become_absolute() -> None:
    file = index(
        """
        import torch.nn.functional as F
        import os.path
        import numpy
        from torch import nn, no_grad as ng
        from . import sibling
        from .other import thing as other_thing
        from ..top import up
        from math import *
        from .all import *
        def f():
            if True:
                import lazy.module as lm
            def g():
                from .deep import deeper
        class A:
            from .inside import bound
        """,
        module="pkg.sub.mod",
    )
    assert file.imports == {
        "F": "torch.nn.functional",
        "os": "os",
        "numpy": "numpy",
        "nn": "torch.nn",
        "ng": "torch.no_grad",
        "sibling": "pkg.sub.sibling",
        "other_thing": "pkg.sub.other.thing",
        "up": "pkg.top.up",
        "lm": "lazy.module",
        "deeper": "pkg.sub.deep.deeper",
        "bound": "pkg.sub.inside.bound",
    }
    assert file.stars == ("math", "pkg.sub.all")
    assert not {"lm", "deeper", "bound"} & file.globals
    assert file.spelling("torch.no_grad") == "ng"


def test_relative_imports_of_a_package_and_above_the_top() -> None:
    assert index("from .a import b\nfrom . import c", "pkg", True).imports == {"b": "pkg.a.b", "c": "pkg.c"}
    assert index("from .a import b\nfrom ..x import y", "script").imports == {"b": "a.b", "y": "x.y"}


def test_the_preferred_alternative_of_an_import_counts() -> None:
    text = """
        try:
            from fast import op
        except ImportError:
            from slow import op
        try:
            import apex
        except ImportError:
            apex = None
        """
    assert index(text).imports == {"op": "fast.op", "apex": "apex"}


def test_a_later_definition_replaces_an_import_but_not_as_its_own_base() -> None:
    file = index("from base import Net, run\nclass Net(Net): ...\ndef run(x: Net): ...\n")
    assert file.imports == {}
    assert file.classes["pkg.mod:Net"].bases == ("base.Net",)
    assert function(file, "run").parameters[0].annotation == "pkg.mod.Net"
    fallback = index("try:\n    from fast import Net\nexcept ImportError:\n    class Net: ...\n")
    assert fallback.imports == {"Net": "fast.Net"}


def test_a_local_import_does_not_rename_a_module_level_name() -> None:
    assert index("def load(): ...\ndef f():\n    from x import load\n").imports == {}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Tensor", "torch.Tensor"),
        ("nn.Module", "torch.nn.Module"),
        ("Optional[Tensor]", "torch.Tensor"),
        ("typing.Optional['nn.Module']", "torch.nn.Module"),
        ("Tensor | None", "torch.Tensor"),
        ("None | Tensor", "torch.Tensor"),
        ("Union[None, Tensor]", "torch.Tensor"),
        ("Annotated[Tensor, 'batch']", "torch.Tensor"),
        ("'Local'", "pkg.mod.Local"),
        ("'Tensor | None'", "torch.Tensor"),
        ("list[Tensor]", "list[Tensor]"),
        ("Union[int, Tensor]", "Union[int, Tensor]"),
        ("'list[Tensor]'", "list[Tensor]"),
        ("None", "None"),
        ("'not a type'", "not a type"),
        ("dict['größe', Tensor]", "dict['größe', Tensor]"),
        ("int", "int"),
    ],
)
def test_annotations(written: str, expected: str) -> None:
    head = (
        "import typing\nfrom typing import Annotated, Optional, Union\nfrom torch import Tensor, nn\nclass Local: ...\n"
    )
    file = index(f"{head}def f(größe: {written}) -> {written}: ...\nclass D:\n    x: {written}\n    y = 1\n")
    assert function(file, "f").parameters[0].annotation == expected
    assert function(file, "f").returns == expected
    assert file.classes["pkg.mod:D"].fields == {"x": expected}


def test_parameters() -> None:
    info = function(index("def f(a, /, b, c=1, *rest, d, e=2, **extra): ..."), "f")
    assert [(p.name, p.kind, p.number) for p in info.parameters] == [
        ("a", "positional", False),
        ("b", "positional", False),
        ("c", "positional", True),
        ("rest", "vararg", False),
        ("d", "keyword", False),
        ("e", "keyword", True),
        ("extra", "kwarg", False),
    ]


def test_generators_need_a_yield_of_their_own() -> None:
    file = index(
        """
        def own():
            x = yield
        def delegating():
            return (yield from own())
        def outer():
            def inner():
                yield 1
            return inner
        def lambdas():
            return lambda: (yield)
        def words():
            "yield"
        """
    )
    assert [f.name for f in file.functions.values() if f.is_generator] == ["own", "delegating"]


def test_decorators_and_bases_other_than_names() -> None:
    file = index(
        """
        import collections, functools
        from typing import Generic
        from torch import no_grad as ng
        registry = {}
        @ng()
        @registry.register("x")
        @functools.lru_cache(maxsize=None)
        @(lambda f: f)
        def f(): ...
        class A(Generic[T], collections.namedtuple("A", "x"), metaclass=Meta): ...
        """
    )
    assert function(file, "f").decorators == (
        "torch.no_grad",
        "pkg.mod.registry.register",
        "functools.lru_cache",
        "lambda f: f",
    )
    assert file.classes["pkg.mod:A"].bases == ("typing.Generic", "collections.namedtuple")


def test_definitions_of_one_name_keep_apart() -> None:
    file = index(
        """
        from typing import overload
        class A:
            @property
            def x(self): return getter
            @x.setter
            def x(self, value): setter
            @overload
            def f(self, a: int): ...
            @overload
            def f(self, a: str): ...
            def f(self, a): return real
        """
    )
    methods = file.classes["pkg.mod:A"].methods
    assert methods == {"x": "pkg.mod:A.x", "f": "pkg.mod:A.f"}
    assert "getter" in file.functions[methods["x"]].words
    assert "real" in file.functions[methods["f"]].words
    assert "setter" in file.functions["pkg.mod:A.x#2"].words
    assert {"pkg.mod:A.f#2", "pkg.mod:A.f#3"} < set(file.functions)


def test_a_method_under_a_second_name() -> None:
    methods = index("class A:\n    def forward(self): ...\n    __call__ = forward\n").classes["pkg.mod:A"].methods
    assert methods == {"forward": "pkg.mod:A.forward", "__call__": "pkg.mod:A.forward"}


def test_what_made_module_level_names() -> None:
    file = index(
        """
        from torch import nn, optim
        class Net(nn.Module): ...
        model: nn.Module = Net().to("cuda").eval()
        model = model.cuda()
        optimizer = optim.SGD(model.parameters())
        either = nn.Linear(1, 1)
        either = nn.Conv2d(1, 1, 1)
        layer = None
        if __name__ == "__main__":
            layer = nn.ReLU()
        output = Net()(1)
        Norm = nn.BatchNorm2d
        copied = Norm
        twice = nn.ReLU
        twice = nn.GELU
        """
    )
    assert file.constructed == {
        "model": "pkg.mod.Net",
        "optimizer": "torch.optim.SGD",
        "layer": "torch.nn.ReLU",
    }
    assert file.aliases == {"Norm": "torch.nn.BatchNorm2d", "copied": "pkg.mod.Norm"}


def test_globals() -> None:
    file = index(
        """
        a, (b, *c) = 1, (2, 3)
        d: int
        e += 1
        obj.attribute = box[0] = 5
        for f, g in h: ...
        with i as j, k as (l, m): ...
        import n.o
        def p():
            global q
            q = r = 1
        """
    )
    assert file.globals == set("abcdefgjlmnpq")
