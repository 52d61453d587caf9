"""Programs mended by the linter itself, as text."""

from __future__ import annotations

import textwrap

from torchmemlint.api import fix_source
from torchmemlint.config import Config

HEAD = "import torch\nfrom torch import nn\n\n\n"


def mended(code: str, body: str) -> str:
    """The program without its head, after all fixes of one rule."""
    text = HEAD + textwrap.dedent(body).lstrip("\n")
    return fix_source(text, "program.py", Config(select=(code,), hints=True, unsafe_fixes=True))[len(HEAD) :]


def unchanged(code: str, body: str) -> bool:
    """Does the rule mend nothing?"""
    return mended(code, body) == textwrap.dedent(body).lstrip("\n")
