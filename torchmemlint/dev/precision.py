"""Findings on pinned public repositories, each argued by a person: docs/precision.toml, its page, and what a new run
finds beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from torchmemlint.dev.corpus import Record, line
from torchmemlint.knowledge.toml import read_toml

DATA = Path("docs") / "precision.toml"
VERDICTS = ("right", "arguable", "wrong")
Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class Repository:
    """A repository at the revision whose findings are argued."""

    name: str
    url: str
    revision: str

    @property
    def folder(self) -> str:
        """The name of its folder in a corpus: owner+name."""
        return "+".join(self.url.rstrip("/").split("/")[-2:])


@dataclass(frozen=True)
class Argued:
    """One finding with its verdict and the reason."""

    repository: str
    file: str
    line: int
    code: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Precision:
    """All repositories and what was found in them."""

    repositories: tuple[Repository, ...]
    findings: tuple[Argued, ...]

    def of(self, repository: Repository) -> list[Argued]:
        """The findings in a repository, in order of place."""
        return sorted((a for a in self.findings if a.repository == repository.name), key=lambda a: (a.file, a.line))

    def keys(self) -> dict[Key, Argued]:
        """The argued findings by folder, file, line and code."""
        folders = {r.name: r.folder for r in self.repositories}
        return {(folders[a.repository], a.file, a.line, a.code): a for a in self.findings}


def load(path: Path) -> Precision:
    """Read the data. Raises ClickException for an unknown verdict or repository, or a finding without a reason."""
    data = read_toml(path)
    repositories = tuple(Repository(r["name"], r["url"], r["revision"]) for r in data.get("repository", ()))
    findings = []
    for item in data.get("finding", ()):
        argued = Argued(
            item["repository"], item["file"], item["line"], item["code"], item["verdict"], item["reason"].strip()
        )
        known = argued.repository in {r.name for r in repositories}
        if argued.verdict not in VERDICTS or not known or not argued.reason:
            raise click.ClickException(
                f"{path.name}: {argued.file}:{argued.line} lacks a verdict, repository or reason"
            )
        findings.append(argued)
    return Precision(repositories, tuple(findings))


def strict(findings: Sequence[Argued]) -> str:
    """The share that is right, where arguable counts as wrong."""
    right = sum(a.verdict == "right" for a in findings)
    return f"{100 * right / len(findings):.0f} %" if findings else "–"


def page(precision: Precision) -> str:
    """docs/precision.md."""
    parts = [
        "# Precision",
        "Every warning and error on these public repositories, read and argued one by one. Made from precision.toml "
        "by `python -m torchmemlint.dev docs`; edit that. With the repositories at these revisions under one folder, "
        "as owner+name, `python -m torchmemlint.dev corpus FOLDER --judged docs/precision.toml` finds the same, and "
        "lists what has no verdict yet.",
        "**right**: the bytes are held or copied as the message says, and the code does not need them. **arguable**: "
        "true, but the author may want it so. **wrong**: not so. The strict precision counts what is arguable as "
        "wrong.",
        _figures(precision),
        *(_section(repository, precision.of(repository)) for repository in precision.repositories),
    ]
    return "\n\n".join(parts) + "\n"


def _figures(precision: Precision) -> str:
    rows = ["| repository | revision | right | arguable | wrong | strict precision |", "|---|---|---|---|---|---|"]
    for repository in precision.repositories:
        found = precision.of(repository)
        link = f"[{repository.name}]({repository.url})"
        rows.append(f"| {link} | `{repository.revision[:12]}` | {_counts(found)} | {strict(found)} |")
    rows.append(f"| **together** | | {_counts(precision.findings)} | **{strict(precision.findings)}** |")
    return "\n".join(rows)


def _counts(findings: Iterable[Argued]) -> str:
    counts = Counter(a.verdict for a in findings)
    return " | ".join(str(counts[verdict]) for verdict in VERDICTS)


def _section(repository: Repository, findings: Sequence[Argued]) -> str:
    if not findings:
        return f"## {repository.name}\n\nNo warning and no error."
    rows = ["| place | rule | verdict | reason |", "|---|---|---|---|"]
    rows += [f"| {a.file}:{a.line} | {a.code} | {a.verdict} | {' '.join(a.reason.split())} |" for a in findings]
    return f"## {repository.name}\n\n" + "\n".join(rows)


def judged(precision: Precision, records: Iterable[Record]) -> list[str]:
    """What a run finds, against the verdicts: unjudged findings, argued ones that are gone, and the figures."""
    keys = precision.keys()
    folders = {r.folder for r in precision.repositories}
    found = [r for r in records if r.repo in folders and r.severity != "hint"]
    met = Counter((r.repo, r.file, r.line, r.code) for r in found)
    lines = [f"unjudged {line(r)}" for r in found if (r.repo, r.file, r.line, r.code) not in keys]
    lines += [f"gone {folder}/{file}:{row}: {code}" for folder, file, row, code in sorted(keys.keys() - met.keys())]
    verdicts = [keys[key] for key, count in met.items() for _ in range(count) if key in keys]
    unjudged = sum(count for key, count in met.items() if key not in keys)
    figure = f"{strict(verdicts)} of {len(verdicts)} judged findings are right; {unjudged} unjudged"
    return [*lines, figure]
