"""The words of functions and modules, by which they are told apart before anything is parsed."""

from __future__ import annotations

from indexing import function, index


def test_identifiers_are_compared_as_python_does() -> None:
    file = index("def f():\n    \ufb01t()\n")  # the ligature fi
    assert "fit" in function(file, "f").words


def test_words_of_functions_and_of_the_module_body() -> None:
    file = index(
        """
        CONSTANT = make()
        class A(Base):
            limit = LIMIT
            @decorate
            def f(self, size=DEFAULT):
                def nested(): return deep
                return shallow
        tail()
        """
    )
    body = file.functions["pkg.mod:"]
    assert (body.name, body.qualname, body.line, body.column) == ("", "", 1, 0)
    assert {"CONSTANT", "make", "Base", "LIMIT", "tail"} <= body.words
    assert not {"deep", "shallow", "nested", "decorate", "DEFAULT"} & body.words
    assert {"deep", "shallow", "nested", "decorate", "DEFAULT"} <= function(file, "A.f").words
    assert "tail" not in function(file, "A.f").words
    assert not {"A", "f"} & (body.words | function(file, "A.f").words)  # defined here, not used
    assert file.words == body.words | function(file, "A.f").words | {"A", "f"}


def test_what_documentation_says_is_no_word_of_the_file() -> None:
    file = index('"""\nAbout backward.\n"""\ndef f():\n    """One.\n\n    Like detach.\n    """\n    return 1\n')
    assert {"f", "return"} <= file.words
    assert file.words.isdisjoint({"backward", "detach"})


def test_names_only_imported_are_no_words_of_the_module_body() -> None:
    file = index("from a import (\n    b,\n    c,\n)\nc()\nimport d; d.e()\n")
    assert file.functions["pkg.mod:"].words == {"c", "import", "d", "e"}  # the last row holds more
    assert file.words >= {"a", "b", "c", "d", "e", "from"}


def test_operators_that_are_only_variables_are_plain() -> None:
    source = """
from torch import exp


def f(x, t, std, sqrt):
    view = x.view(-1) * std
    return map(exp, view), t, "softmax", sqrt (x), isqrt(x), cat
"""
    info = function(index(source), "f")
    assert info.plain == {"t", "std", "softmax", "cat"}
    assert info.plain < info.words


def test_functions_and_docstrings_are_no_words_of_the_module() -> None:
    source = '''"""One row.
a softmax
"""
import torch


@torch.no_grad()
def f(x=default):
    return x


class Net(torch.nn.Module):
    """A net.
    a sigmoid
    """

    scale = 2

    def forward(self, x):
        return x
'''
    words = index(source).functions["pkg.mod:"].words
    assert "scale" in words
    assert words.isdisjoint({"softmax", "sigmoid", "no_grad", "default", "forward", "Net"})
