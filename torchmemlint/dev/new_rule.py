"""Makes the two things a new rule consists of: its module and its fixture folder."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from string import Template

import click

from torchmemlint.dev.checkout import Checkout
from torchmemlint.flow import events

RULE = Template('''\
"""$code $name."""

from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.events import $event


class $cls(Rule):
    """TODO: one line: what the rule finds.

    What it does:
    TODO: which code is reported, and when the rule stays silent.

    Why it costs memory:
    TODO: which bytes are held by what, until when; the number that `verify` measured.

    Known limits:
    TODO: what is missed, and what could be reported wrongly.

    Fix safety:
    TODO: why the fix computes the same, or "No fix".

    References:
    TODO: the page of PyTorch's documentation, the issue, or the measurement.
    """

    code, name = "$code", "$name"
    severity = Severity.WARNING

    @on($subscription)
    def check(self, event: $event) -> Iterator[Finding]:
        """One guard clause per reason to stay silent, then one finding."""
        node = $node
        yield self.finding(event, node, "TODO: which bytes, held by what, until when; then the fix")
''')

CASE = Template('''\
"""$name: TODO: the program in which people meet this."""

import torch

EFFECT = "grows"  # what `verify` must measure: grows | peak | held | copies | none


def bad(device, probe):
    """TODO: ordinary user code that wastes memory; `probe()` marks the end of a step."""
    weight = torch.ones(1024, 1024, device=device)
    for _ in range(8):
        result = weight.sum()  # expect: $code
        probe()
    return float(result)


def good(device, probe):
    """TODO: the same program without the waste; it returns the same."""
    weight = torch.ones(1024, 1024, device=device)
    for _ in range(8):
        result = weight.sum()
        probe()
    return float(result)
''')

SILENT = Template('''\
"""Looks like $name and is right: TODO: why."""

import torch


def ok(device, probe):
    """TODO: the nearest correct code."""
    return float(torch.ones(8, device=device).sum())
''')

_NODES = {"HolderClosed": "event.holder.node", "FunctionClosed": "event.function.ops[0].node"}


def new_rule(checkout: Checkout, code: str, name: str, event: str, operations: tuple[str, ...]) -> list[Path]:
    """Write the rule's module, a case and a look-alike; returns them. Raises ClickException, writing nothing, when the
    arguments don't fit or the code or name is taken."""
    _validate(checkout, code, name, event, operations)
    words = {"code": code, "name": name, "event": event, "cls": "".join(part.title() for part in name.split("-"))}
    words["subscription"] = ", ".join([event, *(f'"{operation}"' for operation in operations)])
    words["node"] = _NODES.get(event, "event.op.node")
    folder = checkout.fixtures / f"{code}-{name}"
    files = {
        checkout.rules / f"{code.lower()}_{name.replace('-', '_')}.py": RULE,
        folder / "case.py": CASE,
        folder / "ok_near.py": SILENT,
    }
    folder.mkdir(parents=True)
    for path, template in files.items():
        path.write_text(template.substitute(words), encoding="utf-8")
    return list(files)


def event_names() -> list[str]:
    """The events that a rule can subscribe to."""
    classes = [c for _, c in inspect.getmembers(events, inspect.isclass) if issubclass(c, events.Event)]
    return sorted(c.__name__ for c in classes if c is not events.Event)


def _validate(checkout: Checkout, code: str, name: str, event: str, operations: tuple[str, ...]) -> None:
    if not re.fullmatch(r"TML[1-9]\d\d", code):
        raise click.ClickException(f"a code has the form TML123, not {code}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise click.ClickException(f"a name is a short phrase with hyphens such as graph-kept-in-container, not {name}")
    if event not in event_names():
        raise click.ClickException(f"no event is called {event}; there are {', '.join(event_names())}")
    if bool(operations) != (event == "OpClosed"):
        raise click.ClickException("--op names the operations that an OpClosed rule looks at, and no other has it")
    stem = name.replace("-", "_")
    taken = [*checkout.rules.glob(f"{code.lower()}_*.py"), *checkout.rules.glob(f"tml*_{stem}.py")]
    taken += checkout.fixtures.glob(f"{code}-*")
    if taken:
        raise click.ClickException(f"taken: {taken[0].relative_to(checkout.root)} exists")
