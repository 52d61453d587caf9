"""Expectations written as comments in the code under test.

`# expect: TML101[, TML201]` says that exactly these findings stand on that line. `# allow: TML201` names a finding that
is true there but not asked for (two rules see one cause). A code may be repeated: markers are a multiset.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

Mark = tuple[int, str]  # (1-based line, rule code)

_MARKER = re.compile(r"#\s*(expect|allow):\s*((?:TML\d{3})(?:\s*,\s*TML\d{3})*)")
_BROKEN = re.compile(r"#\s*(?:expect|allow)\b", re.IGNORECASE)


class MarkerError(ValueError):
    """A comment that looks like a marker and is not one: a typo would otherwise silence an expectation."""


@dataclass(frozen=True)
class Markers:
    """All markers of one file."""

    expected: Counter[Mark] = field(default_factory=Counter)
    allowed: frozenset[Mark] = frozenset()

    @property
    def codes(self) -> frozenset[str]:
        """Codes that are expected somewhere in the file."""
        return frozenset(code for _, code in self.expected)

    def compare(self, found: Iterable[Mark]) -> str:
        """Empty when `found` is what the markers say, else one line for each difference."""
        got = Counter(found)
        missing = self.expected - got
        surplus = Counter({mark: n for mark, n in (got - self.expected).items() if mark not in self.allowed})
        lines = [f"line {line}: {code} expected, not found" for line, code in sorted(missing.elements())]
        lines += [f"line {line}: {code} found, not expected" for line, code in sorted(surplus.elements())]
        return "\n".join(lines)


def parse(text: str) -> Markers:
    """The markers of a Python source text; strings and docstrings are not comments.

    Raises MarkerError for a malformed marker.
    """
    expected: Counter[Mark] = Counter()
    allowed: set[Mark] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        hits = _MARKER.findall(token.string)
        if len(hits) != len(_BROKEN.findall(token.string)):
            raise MarkerError(f"line {line}: not a marker: {token.string}")
        for kind, codes in hits:
            marks = [(line, code.strip()) for code in codes.split(",")]
            if kind == "expect":
                expected.update(marks)
            else:
                allowed.update(marks)
    return Markers(expected, frozenset(allowed))
