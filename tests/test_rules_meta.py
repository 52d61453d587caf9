"""What every rule must have besides being right: a code, a name, a documentation, fixtures, and a plain message."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from linting import findings
from markers import parse

from torchmemlint import loader
from torchmemlint.dev.checkout import Checkout
from torchmemlint.dev.docstrings import HEADINGS, sections, summary
from torchmemlint.registry import Rule

ROOT = Path(__file__).parent.parent
CHECKOUT = Checkout(ROOT)
RULES = list(loader.own_rules())
CLAIMS = {"grows", "peak", "held", "copies", "none"}
FAMILIES = "123456"


def problems(rule: type[Rule], checkout: Checkout) -> list[str]:
    """Everything that the rule lacks, one sentence each."""
    module = Path(inspect.getfile(rule))
    return [
        *identity_problems(rule, module),
        *documentation_problems(rule),
        *fixture_problems(rule, checkout),
        *message_problems(module.read_text(encoding="utf-8")),
    ]


def identity_problems(rule: type[Rule], module: Path) -> Iterator[str]:
    if not re.fullmatch(rf"TML[{FAMILIES}]\d\d", rule.code):
        yield f"code {rule.code} is not TML, the digit of a family and two more digits"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", rule.name):
        yield f"name {rule.name} is not a short phrase with hyphens"
    if rule.name.removeprefix("no-grad").startswith(("no-", "dont-", "avoid-", "use-")):
        yield f"name {rule.name} states the remedy; it should state the fault"
    expected = f"{rule.code.lower()}_{rule.name.replace('-', '_')}.py"
    if module.name != expected:
        yield f"{module.name} should be called {expected}"


def documentation_problems(rule: type[Rule]) -> Iterator[str]:
    texts = sections(rule)
    if list(texts) != list(HEADINGS):
        yield f"the docstring's headings are {list(texts)}, not {list(HEADINGS)}"
    for heading, text in texts.items():
        if not text:
            yield f"nothing under {heading}"
    if not 10 <= len(summary(rule)) <= 120 or summary(rule).startswith(HEADINGS):
        yield "the docstring starts with no summary of one line"
    if "TODO" in (rule.__doc__ or ""):
        yield "the docstring has a TODO"


def fixture_problems(rule: type[Rule], checkout: Checkout) -> Iterator[str]:
    cases, silent = checkout.cases(rule), checkout.silent(rule)
    folder = checkout.fixture(rule).name
    if not cases:
        yield f"fixtures/{folder} has no case"
    if not silent:
        yield f"fixtures/{folder} has no ok_ file"
    for path in cases:
        yield from (f"{folder}/{path.name}: {text}" for text in case_problems(rule, path))
    for path in silent:
        if rule.code in parse(path.read_text(encoding="utf-8")).codes:
            yield f"{folder}/{path.name}: a look-alike expects its own rule"


def case_problems(rule: type[Rule], path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    module = ast.parse(text)
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    if rule.code not in parse(text).codes:
        yield f"no line is marked `# expect: {rule.code}`"
    if "TODO" in text:
        yield "has a TODO"
    if "bad" not in functions and "good" not in functions:
        return  # checked only by the linter
    for name in ("bad", "good"):
        arguments = [a.arg for a in functions[name].args.args] if name in functions else None
        if arguments != ["device", "probe"]:
            yield f"has no function {name}(device, probe)"
    if not effects(module) <= CLAIMS or not effects(module):
        yield f"EFFECT is {sorted(effects(module))}, not one of {sorted(CLAIMS)}"


def effects(module: ast.Module) -> set[str]:
    """The text constants assigned to EFFECT."""
    return {
        str(node.value.value)
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if any(isinstance(target, ast.Name) and target.id == "EFFECT" for target in node.targets)
    }


def messages(source: str) -> Iterator[str]:
    """The messages handed to `self.finding(event, node, message)` as literals, `{}` for what is filled in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "finding":
            given = [*node.args[2:3], *(k.value for k in node.keywords if k.arg == "message")]
            yield from map(literal, given)


def literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return "{}"


def message_problems(source: str) -> Iterator[str]:
    for message in messages(source):
        yield from wording_problems(message)


def wording_problems(message: str) -> Iterator[str]:
    if message.rstrip().endswith((".", "!")) or message != message.strip():
        yield f"message ends in a full stop or space: {message}"
    if "\n" in message or "  " in message:
        yield f"message is not one line of single spaces: {message}"
    if re.search(r"\b(please|you should|consider|TODO)\b", message, re.IGNORECASE):
        yield f"message does not say plainly what is so: {message}"
    if len(message) > 300:
        yield f"message is longer than 300 characters: {message}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_a_rule_is_complete(rule: type[Rule]) -> None:
    assert problems(rule, CHECKOUT) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_what_a_rule_says_on_its_own_cases_is_one_plain_sentence(rule: type[Rule]) -> None:
    said = [
        message
        for case in CHECKOUT.cases(rule)
        for found in findings(case.read_text(encoding="utf-8"), case, (rule.code,))
        if found.code == rule.code
        for message in [found.message, *(r.message for r in found.related), *([found.fix.message] if found.fix else [])]
    ]
    assert said
    assert [problem for message in said for problem in wording_problems(message)] == []


def test_codes_and_names_are_unique() -> None:
    codes, names = Counter(r.code for r in RULES), Counter(r.name for r in RULES)
    assert [c for c, n in (codes + names).items() if n > 1] == []


def test_every_fixture_folder_belongs_to_a_rule() -> None:
    folders = {p.name for p in (ROOT / "fixtures").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == {f"{rule.code}-{rule.name}" for rule in RULES}


@pytest.mark.parametrize(
    ("message", "sound"),
    [
        ('f"`{event.name}` keeps every step\'s graph; store `{text}.detach()`"', True),
        ('"`losses` keeps the graph."', False),
        ('"please detach " + name', False),
        ('"two\\nlines"', False),
    ],
)
def test_the_message_check_itself(message: str, sound: bool) -> None:
    assert (not list(message_problems(f"self.finding(event, node, {message})"))) is sound
