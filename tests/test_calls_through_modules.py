"""Functions of the project that are called through the module that holds them, however that was imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchmemlint import api
from torchmemlint.config import Config

HELPERS = """\
import torch
from torch import nn

net = nn.Linear(4, 1)


def error(x, y):
    return ((net(x) - y) ** 2).mean()


def number(x, y):
    return ((net(x) - y) ** 2).mean().item()
"""
MAIN = """\
import torch
{imported}


def evaluate(loader):
    kept = []
    for x, y in loader:
        kept.append({call}(x, y))
    print(len(kept))
"""


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from pkg import helpers", "helpers.error"),
        ("from . import helpers", "helpers.error"),
        ("from pkg import helpers as h", "h.error"),
        ("import pkg.helpers", "pkg.helpers.error"),
        ("import pkg", "pkg.helpers.error"),
        ("from pkg import sub", "sub.error"),
        ("from pkg.helpers import error", "error"),
    ],
)
def test_what_they_return_is_known(tmp_path: Path, imported: str, call: str) -> None:
    package = tmp_path / "pkg"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").write_text("from . import helpers\n", encoding="utf-8")
    (package / "sub" / "__init__.py").write_text("from ..helpers import error, number\n", encoding="utf-8")
    (package / "helpers.py").write_text(HELPERS, encoding="utf-8")
    main = package / "main.py"
    for name, expected in (("error", True), ("number", False)):
        main.write_text(MAIN.format(imported=imported, call=call).replace("error", name), encoding="utf-8")
        found = [(d.code, d.row) for d in api.check([str(tmp_path)], Config()) if d.filename == str(main)]
        assert (("TML101", 8) in found) is expected, (name, found)
