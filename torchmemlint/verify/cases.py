"""What to verify: the package's own fixtures and facts, the fixtures of other packages' rules, and users' files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from torchmemlint.verify.judge import EFFECTS

_FOLDER = re.compile(r"(?P<code>[A-Z]{3,8}[0-9]{3,4})-.+")
_CONSTANTS = ("EFFECT", "FIX", "DEVICE", "CLAIM", "TOLERANCE", "FIGURES")
VARIANTS = ("bad", "good")
FACT = "fact"  # the function of a file that measures without comparing; FACTS: the name of all that come along
FACTS = "facts"


class CaseError(Exception):
    """A fixture can't be used; the message says which and why."""


@dataclass(frozen=True)
class Case:
    """One fixture file, or a fact. `code` is empty for a file outside the folder of a rule."""

    path: Path
    text: str
    code: str = ""
    effect: str = ""  # what is claimed: grows | peak | held | copies | none; empty claims nothing
    fix: str = ""  # "cures": the fix takes the finding and the memory; "numbers": it keeps the result
    device: str = ""  # "cuda": nothing but a GPU can show it
    claim: str = ""  # optional figure: "2.5x" or "8 MiB"
    tolerance: float | None = None  # relative, of the results
    figures: dict[str, str] = field(default_factory=dict)  # of a fact: what is claimed of each of its numbers

    @property
    def name(self) -> str:
        """Rule folder and file, or the file alone."""
        inside = self.code or self.path.parent == facts_home()
        return f"{self.path.parent.name}/{self.path.stem}" if inside else self.path.stem

    def fixed(self) -> str | None:
        """The text after all fixes, safe and unsafe, of the case's rule; None when they change nothing."""
        from torchmemlint.api import fix_source
        from torchmemlint.config import Config

        codes = (self.code,) if self.code else ()
        mended = fix_source(self.text, str(self.path), Config(select=codes, hints=True, unsafe_fixes=True), unsafe=True)
        return mended if mended != self.text else None


def gather(wanted: Iterable[str]) -> list[Case]:
    """The cases that codes (prefixes too), `facts`, files and folders name; everything for none. Raises CaseError."""
    wanted = list(wanted)
    if not wanted:
        return [case for folder in [*folders(), facts_home()] for case in in_folder(folder)]
    found: dict[Path, Case] = {}
    for word in wanted:
        cases = _of_path(Path(word)) if Path(word).exists() else _of_code(word)
        found.update((case.path, case) for case in cases)
    return list(found.values())


def facts_home() -> Path:
    """The folder of the facts that come along."""
    return Path(__file__).resolve().parent / FACTS


def folders() -> list[Path]:
    """Every rule's fixture folder, the own ones first."""
    own = _rule_folders(Path(str(resources.files("torchmemlint.fixtures"))))
    return own + [folder for home in _foreign_homes() for folder in _rule_folders(home)]


def _rule_folders(home: Path) -> list[Path]:
    return sorted(f for f in home.iterdir() if f.is_dir() and _FOLDER.fullmatch(f.name)) if home.is_dir() else []


def _foreign_homes() -> Iterator[Path]:
    """`fixtures` beside the modules of the rules that other packages ship."""
    import inspect

    from torchmemlint.loader import load_rules

    homes: list[Path] = []
    for rule in load_rules():
        home = Path(inspect.getfile(rule)).parent / "fixtures"
        if not rule.__module__.startswith("torchmemlint.") and home not in homes:
            homes.append(home)
    yield from homes


def _of_code(word: str) -> list[Case]:
    if word.lower() == FACTS:
        return list(in_folder(facts_home()))
    chosen = [folder for folder in folders() if folder.name.startswith(word.upper())]
    if not chosen:
        from torchmemlint.config import nearest

        names = [FACTS.upper(), *(folder.name.partition("-")[0] for folder in folders())]
        raise CaseError(f"no fixture belongs to `{word}`, and there is no such file{nearest(word.upper(), names)}")
    return [case for folder in chosen for case in in_folder(folder)]


def _of_path(path: Path) -> list[Case]:
    if path.is_file():
        return [read(path)]
    inner = [path, *_rule_folders(path)]
    cases = [case for folder in inner for case in in_folder(folder)]
    if not cases:
        raise CaseError(f"{path} has no Python file with the functions bad(device, probe) and good(device, probe)")
    return cases


def in_folder(folder: Path) -> Iterator[Case]:
    """The cases of one folder; files without a `bad` and a `good`, or a `fact`, are something else."""
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith(("ok_", "_")) and _is_case(_parse(path)):
            yield read(path)


def _is_case(module: ast.Module) -> bool:
    return set(VARIANTS) <= _functions(module) or _is_fact(module)


def _is_fact(module: ast.Module) -> bool:
    return FACT in _functions(module) and any(name == "FIGURES" for name, _ in _constants(module))


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (SyntaxError, ValueError, OSError) as error:
        raise CaseError(f"{path} can't be read: {error}") from None


def _functions(module: ast.Module) -> set[str]:
    return {node.name for node in module.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def read(path: Path) -> Case:
    """The case in a file, whose constants are read without running it. Raises CaseError."""
    module = _parse(path)
    missing = [name for name in VARIANTS if name not in _functions(module)]
    if missing and not _is_fact(module):
        raise CaseError(f"{path} has no function {missing[0]}(device, probe)")
    values = {key.lower(): value for key, value in _constants(module)}
    if values.get("effect", "none") not in EFFECTS:
        raise CaseError(f"{path}: EFFECT is {values['effect']!r}; it must be one of {', '.join(EFFECTS)}")
    folder = _FOLDER.fullmatch(path.resolve().parent.name)
    code = folder["code"] if folder else ""
    return Case(path.resolve(), path.read_text(encoding="utf-8"), code, **values)


def _constants(module: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in _CONSTANTS:
            yield node.targets[0].id, ast.literal_eval(node.value)
