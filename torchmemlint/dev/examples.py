"""Bad and good examples are not written twice: they are cut out of the rule's fixture."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

EXPECTED = re.compile(r"#\s*expect:\s*(?P<codes>TML\d{3}(?:\s*,\s*TML\d{3})*)")
ALLOWED = re.compile(r"\s*#\s*allow:\s*TML\d{3}(?:\s*,\s*TML\d{3})*")


def example(path: Path) -> tuple[str, str]:
    """(bad, good): the definitions of a fixture file that show the finding, and those that show how it should be;
    empty strings where the file has none."""
    text = path.read_text(encoding="utf-8")
    blocks = {node.name: node for node in ast.parse(text).body if isinstance(node, Definition)}
    bad = _reached("bad", blocks)
    good = [name for name in _reached("good", blocks) if name not in bad]
    lines = text.splitlines()
    marked = [name for name in blocks if EXPECTED.search(_source(blocks[name], lines))]
    shown = [name for name in blocks if name in marked or name == "bad"]
    return _join(shown, blocks, lines), _join([name for name in blocks if name in good], blocks, lines)


def best_example(code: str, cases: Iterable[Path]) -> tuple[str, str]:
    """The shortest example in which `code` is found and something is wasted; empty strings where there is none."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in cases]
    harmful = [path for path, text in texts if 'EFFECT = "none"' not in text]
    examples = [example(path) for path in harmful or [path for path, _ in texts]]
    return min((pair for pair in examples if f"# {code}" in pair[0]), key=lambda pair: len(pair[0]), default=("", ""))


def _reached(name: str, blocks: dict[str, Definition]) -> list[str]:
    """`name` and the definitions of the same file that it uses, directly or not."""
    found: list[str] = []
    todo = [name]
    while todo:
        name = todo.pop()
        if name in blocks and name not in found:
            found.append(name)
            todo += [node.id for node in ast.walk(blocks[name]) if isinstance(node, ast.Name)]
    return found


def _source(node: Definition, lines: list[str]) -> str:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(lines[first - 1 : node.end_lineno])


def _join(names: list[str], blocks: dict[str, Definition], lines: list[str]) -> str:
    text = "\n\n\n".join(_source(blocks[name], lines) for name in names)
    return EXPECTED.sub(lambda match: f"# {match['codes']}", ALLOWED.sub("", text))
