"""What is generated, so that it cannot drift: docs/rules.md and the README's rule table and example run out of
docstrings, fixtures and a real run; docs/precision.md and docs/comparison.md out of their data; the figures of the
README and docs/verify.md out of records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from torchmemlint.dev import comparison, precision
from torchmemlint.dev.checkout import Checkout
from torchmemlint.dev.docstrings import HEADINGS, sections, summary
from torchmemlint.dev.example_run import with_run
from torchmemlint.dev.examples import best_example
from torchmemlint.dev.measured import Measurements, filled, load, ratio, sentence
from torchmemlint.explain import has_fix, paragraph
from torchmemlint.registry import Rule

BEGIN = "<!-- rules: begin (made by `python -m torchmemlint.dev docs`) -->"
END = "<!-- rules: end -->"
FAMILIES = {
    "1": "Graphs and activations kept alive",
    "2": "Gradients recorded for nothing",
    "3": "Copies that nobody needs",
    "4": "Dead but still bound",
    "5": "Gradients and optimizer state",
    "6": "Loading and data",
}


def pages(checkout: Checkout, rules: Iterable[type[Rule]]) -> dict[Path, str]:
    """The text that each generated file should have. Raises ClickException when the README lacks a place for it."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    readme = checkout.root / "README.md"
    text = readme.read_text(encoding="utf-8")
    if END not in text.partition(BEGIN)[2]:
        raise click.ClickException(f"{readme.name} needs the lines\n{BEGIN}\n{END}")
    measured = load(checkout.root)
    parts = {"rules": table(ordered, measured, "docs/rules.md"), **measured.sections}
    argued, compared = checkout.root / precision.DATA, checkout.root / comparison.DATA
    precision_text = {argued.with_suffix(".md"): precision.page(precision.load(argued))} if argued.is_file() else {}
    comparison_text = {}
    if compared.is_file():
        data = comparison.load(compared)
        parts["comparison"] = comparison.short(data)
        comparison_text[compared.with_suffix(".md")] = comparison.page(data)
    verify = checkout.root / "docs" / "verify.md"
    verify_text = {verify: filled(verify.read_text(encoding="utf-8"), measured.sections)} if verify.is_file() else {}
    return {
        readme: with_run(filled(text, parts)),
        checkout.root / "docs" / "rules.md": rules_page(checkout, ordered, measured),
        **precision_text,
        **comparison_text,
        **verify_text,
    }


def stale(expected: dict[Path, str]) -> list[Path]:
    """The files that differ from what they should be."""
    return [p for p, text in expected.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]


def write(expected: dict[Path, str]) -> list[Path]:
    """Write the files that differ; returns them."""
    changed = stale(expected)
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(expected[path], encoding="utf-8", newline="\n")
    return changed


def table(rules: Iterable[type[Rule]], measured: Measurements, page: str = "") -> str:
    """One row a rule; the code links to its section of `page`."""
    rows = [
        f"| [{rule.code}]({page}#{_anchor(rule)}) | {rule.name} | {rule.severity.value} | {_fix(rule)} "
        f"| {ratio(measured.record.get(rule.code))} | {_cell(summary(rule))} |"
        for rule in rules
    ]
    head = ["| code | name | severity | fix | measured | what it finds |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def rules_page(checkout: Checkout, rules: list[type[Rule]], measured: Measurements) -> str:
    """docs/rules.md: the table, then the rules by family."""
    parts = [
        "# Rules",
        "Made from the rules' docstrings and fixtures by `python -m torchmemlint.dev docs`; edit those.",
        "`error`: memory grows until it runs out. `warning`: a large, sure waste. `hint`: small or situational, shown "
        "only when selected.",
        table(rules, measured),
    ]
    family = ""
    for rule in rules:
        title = FAMILIES.get(rule.code[3:4], "Others")
        if title != family:
            parts.append(f"## {title}")
            family = title
        parts.append(rule_section(checkout, rule, measured))
    return "\n\n".join(parts) + "\n"


def rule_section(checkout: Checkout, rule: type[Rule], measured: Measurements) -> str:
    """A rule's documentation with the plainest example of its fixtures."""
    parts = [f"### {rule.code} {rule.name}", f"Severity: {rule.severity.value}. {_sentence(summary(rule))}"]
    texts = sections(rule)
    parts += [paragraph(heading, texts[heading]) for heading in HEADINGS[:2] if heading in texts]
    cost = sentence(measured.record.get(rule.code))
    parts += [paragraph("Measured", cost)] if cost else []
    parts += _examples(checkout, rule)
    parts += [paragraph(heading, texts[heading]) for heading in HEADINGS[2:] if heading in texts]
    return "\n\n".join(parts)


def _examples(checkout: Checkout, rule: type[Rule]) -> list[str]:
    bad, good = best_example(rule.code, checkout.cases(rule))
    return [f"{label}\n\n```python\n{code}\n```" for label, code in (("Found:", bad), ("Silent:", good)) if code]


def _anchor(rule: type[Rule]) -> str:
    return f"{rule.code.lower()}-{rule.name}"


def _fix(rule: type[Rule]) -> str:
    return has_fix(rule).replace("-", "–")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."
