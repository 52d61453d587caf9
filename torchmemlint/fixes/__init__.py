"""Fixes: rules build a `Plan` from syntax nodes; `resolve` makes it plain data; `apply` edits text without any parser.

The builders load libcst, so they are imported on first use: applying fixes from the cache needs none of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from torchmemlint.fixes.files import FileChanged, write_atomically
from torchmemlint.fixes.rounds import apply, apply_checked, unified_diff

if TYPE_CHECKING:
    from torchmemlint.fixes.arguments import remove_keyword, set_keyword
    from torchmemlint.fixes.blocks import add_decorator, enter_bare_context, wrap_in_with
    from torchmemlint.fixes.elsewhere import within
    from torchmemlint.fixes.expressions import (
        call_method,
        rename_attribute,
        replace,
        replace_call,
        swap_calls,
        unwrap_call,
    )
    from torchmemlint.fixes.handlers import move_behind
    from torchmemlint.fixes.imports import add_import, spell
    from torchmemlint.fixes.plan import Plan, Step, combine, resolve
    from torchmemlint.fixes.statements import delete_statement, insert_after, insert_before, replace_statement
    from torchmemlint.fixes.text import expression_text

_HOME = {
    "arguments": ("remove_keyword", "set_keyword"),
    "blocks": ("add_decorator", "enter_bare_context", "wrap_in_with"),
    "elsewhere": ("within",),
    "expressions": ("call_method", "rename_attribute", "replace", "replace_call", "swap_calls", "unwrap_call"),
    "handlers": ("move_behind",),
    "imports": ("add_import", "spell"),
    "plan": ("Plan", "Step", "combine", "resolve"),
    "statements": ("delete_statement", "insert_after", "insert_before", "replace_statement"),
    "text": ("expression_text",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "FileChanged",
    "Plan",
    "Step",
    "add_decorator",
    "add_import",
    "apply",
    "apply_checked",
    "call_method",
    "combine",
    "delete_statement",
    "enter_bare_context",
    "expression_text",
    "insert_after",
    "insert_before",
    "move_behind",
    "remove_keyword",
    "rename_attribute",
    "replace",
    "replace_call",
    "replace_statement",
    "resolve",
    "set_keyword",
    "spell",
    "swap_calls",
    "unified_diff",
    "unwrap_call",
    "within",
    "wrap_in_with",
    "write_atomically",
]


def __getattr__(name: str) -> object:
    """Builders, loaded when first asked for."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
    globals()[name] = value
    return value
