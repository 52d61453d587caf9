"""Where things lie in a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from torchmemlint.registry import Rule


@dataclass(frozen=True)
class Checkout:
    """The folders of a checkout, or of a copy laid out like one."""

    root: Path

    @property
    def rules(self) -> Path:
        """One module a rule."""
        return self.root / "rules"

    @property
    def fixtures(self) -> Path:
        """One folder a rule."""
        return self.root / "fixtures"

    def fixture(self, rule: type[Rule]) -> Path:
        """The rule's fixture folder; the hyphens keep setuptools from taking it for a package."""
        return self.fixtures / f"{rule.code}-{rule.name}"

    def cases(self, rule: type[Rule]) -> list[Path]:
        """The rule's fixture files that it must find something in."""
        return [p for p in sorted(self.fixture(rule).glob("*.py")) if not p.name.startswith("ok_")]

    def silent(self, rule: type[Rule]) -> list[Path]:
        """The rule's look-alikes, in which it must stay silent."""
        return sorted(self.fixture(rule).glob("ok_*.py"))


def find_checkout() -> Checkout:
    """The checkout this package runs from. Raises click.ClickException when it was installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "rules").is_dir() or not (root / "pyproject.toml").is_file():
        raise click.ClickException("these tools need a checkout installed with `pip install -e .`")
    return Checkout(root)
