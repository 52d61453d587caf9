"""The report of `verify`: one HTML file that needs nothing else, in light and dark."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from itertools import groupby
from string import Template

from torchmemlint.verify.judge import Claim, human
from torchmemlint.verify.plots import bars, timelines
from torchmemlint.verify.run import Setting, Verified, tally
from torchmemlint.verify.table import STYLES, heading

_TITLES = {"effect": "effect", "amount": "amount", "result": "same result", "fix": "fix", "bad": "bad", "good": "good"}


def page(results: Sequence[Verified], setting: Setting) -> str:
    """The whole document."""
    template = Template((resources.files("torchmemlint.verify") / "report.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"torchmemlint verify: {setting.environment['device']}"),
        heading=escape(heading(setting)),
        word=f'<p class="note">{escape(setting.word)}</p>' if setting.word else "",
        tally=_tally(results),
        contents=_contents(results),
        rules="\n".join(_rules(results)),
        environment=_environment(setting),
    )


def _tally(results: Sequence[Verified]) -> str:
    counts = tally(results)
    parts = [f'<li class="{v}"><b>{counts[v]}</b> {v}</li>' for v in STYLES if counts.get(v)]
    return f"<ul class=tally>{''.join(parts)}</ul>"


def _contents(results: Sequence[Verified]) -> str:
    items = [
        f'<li><a href="#{_anchor(r)}"><span class="dot {r.verdict}"></span>{escape(r.case.path.stem)}</a> '
        f"<small>{escape(r.case.code)}</small></li>"
        for r in results
    ]
    return f"<ol class=contents>{''.join(items)}</ol>"


def _anchor(result: Verified) -> str:
    return escape(result.case.name.replace("/", "-").replace(" ", "-"), quote=True)


def _rules(results: Sequence[Verified]) -> Iterator[str]:
    for rule, cases in groupby(results, key=lambda r: r.case.name.rpartition("/")[0] or "other files"):
        yield f"<section><h2>{escape(rule)}</h2>"
        yield from (_case(case) for case in cases)
        yield "</section>"


def _case(result: Verified) -> str:
    parts = [
        f'<article id="{_anchor(result)}"><h3>{escape(result.case.path.stem)} '
        f'<span class="verdict {result.verdict}">{result.verdict}</span></h3>',
        f"<p>{_words(_docstring(result.case.text))}</p>",
        f'<p class="note">{escape(result.note)}</p>' if result.note else "",
        f"<ul class=claims>{''.join(map(_claim, result.claims))}</ul>" if result.claims else "",
        _figures(result),
        _code(result),
    ]
    return "\n".join([*filter(None, parts), "</article>"])


def _docstring(text: str) -> str:
    return " ".join((ast.get_docstring(ast.parse(text)) or "").split())


def _words(text: str) -> str:
    """Text with code in backticks, as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _claim(claim: Claim) -> str:
    name = _TITLES.get(claim.name, claim.name)
    return f'<li><span class="dot {claim.verdict}"></span><b>{name}</b> {claim.verdict}: {escape(claim.detail)}</li>'


def _figures(result: Verified) -> str:
    usages = {name: outcome.usage for name, outcome in result.outcomes.items() if outcome.ok}
    if not usages or result.case.figures:
        return ""
    rows = [
        f"<tr><th>{name}</th><td>{human(u.peak)}</td><td>{human(u.held)}</td><td>{human(u.slope)}</td>"
        f"<td>{human(u.allocated)}</td><td>{u.allocations}</td><td>{_reserved(u.reserved)}</td></tr>"
        for name, u in usages.items()
    ]
    head = (
        "<tr><th></th><th>peak</th><th>held</th><th>per step</th><th>allocated</th><th>times</th><th>reserved</th></tr>"
    )
    table = f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'
    return f"<div class=figures>{timelines(usages)}<div>{bars(usages)}{table}</div></div>"


def _reserved(size: int | None) -> str:
    return "–" if size is None else human(size)


def _code(result: Verified) -> str:
    """The bad, mended and good code side by side: the definitions that differ. Of a fact, its program."""
    if result.case.figures:
        return f"<details><summary>code</summary><pre>{escape(result.case.text)}</pre></details>"
    shown = [("bad", _reached(result.case.text, "bad"))]
    if result.fixed_text is not None:
        shown.append(("fixed", _reached(result.fixed_text, "bad")))
    shown.append(("good", _reached(result.case.text, "good")))
    before, changed = set(shown[0][1].splitlines()), []
    for name, text in shown:
        reference = before if name != "bad" else set(shown[-1][1].splitlines())
        changed.append(f"<figure><figcaption>{name}</figcaption><pre>{_marked(text, reference)}</pre></figure>")
    return f'<details><summary>code</summary><div class="code">{"".join(changed)}</div></details>'


def _reached(text: str, name: str) -> str:
    """The definition of `name` and those of the same text that it uses, in their order."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    blocks = {node.name: node for node in ast.parse(text).body if isinstance(node, kinds)}
    used, todo = set(), [name]
    while todo:
        block = blocks.get(todo.pop())
        if block is not None and block.name not in used:
            used.add(block.name)
            todo += [node.id for node in ast.walk(block) if isinstance(node, ast.Name)]
    lines = text.splitlines()
    starts = {n: min([b.lineno, *(d.lineno for d in b.decorator_list)]) for n, b in blocks.items()}
    return "\n\n".join("\n".join(lines[starts[n] - 1 : b.end_lineno]) for n, b in blocks.items() if n in used)


def _marked(text: str, reference: set[str]) -> str:
    lines = (
        escape(line) if line in reference or not line.strip() else f"<mark>{escape(line)}</mark>"
        for line in text.splitlines()
    )
    return "\n".join(lines)


def _environment(setting: Setting) -> str:
    rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(str(v))}</td></tr>" for k, v in setting.environment.items())
    return f'<div class="wide"><table class=environment>{rows}</table></div>'
