"""The end of an `except` block moved behind its statement."""

from __future__ import annotations

import libcst as cst
import pytest
from fixing import fixed

from torchmemlint.fixes import Plan, move_behind
from torchmemlint.flow.units import Unit


def moved(unit: Unit, work: cst.CSTNode) -> Plan:
    """From the marked expression on, out of the innermost handler around it."""
    handlers: list[cst.CSTNode] = []

    def look(node: cst.CSTNode, around: cst.CSTNode | None) -> None:
        around = node if isinstance(node, cst.ExceptHandler) else around
        if node is unit.twin(work) and around is not None:
            handlers.append(around)
        for child in node.children:
            look(child, around)

    look(unit.concrete, None)
    return move_behind(handlers[-1], work)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "try:\n    f()\nexcept E:\n    «g()»\nh()\n",
            "failed = False\ntry:\n    f()\nexcept E:\n    failed = True\nif failed:\n    g()\nh()\n",
        ),
        (
            "def w():\n  # why\n  try:\n    return f()\n  except E as e:\n    print(e)\n    # again\n"
            "    return «g()»  # é\n",
            "def w():\n  # why\n  failed = False\n  try:\n    return f()\n  except E as e:\n    print(e)\n"
            "    # again\n    failed = True\n  if failed:\n    return g()  # é\n",
        ),
        (
            "for i in x:\n\ttry:\n\t\tf()\n\texcept A:\n\t\tpass\n\texcept B:\n\t\tc()\n"
            "\t\ty = «g()»\n\n\t\tcontinue\n",
            "for i in x:\n\tfailed = False\n\ttry:\n\t\tf()\n\texcept A:\n\t\tpass\n\texcept B:\n\t\tc()\n"
            "\t\tfailed = True\n\tif failed:\n\t\ty = g()\n\n\t\tcontinue\n",
        ),
        (
            "failed = 0\ntry:\n    f()\nexcept E:\n    for i in x:\n        «g(i)»\n",
            "failed = 0\nfailed_ = False\ntry:\n    f()\nexcept E:\n    failed_ = True\nif failed_:\n"
            "    for i in x:\n        g(i)\n",
        ),
        ("try:\n    f()\nexcept E as e:\n    «g(e)»\n", None),
        ("try:\n    f()\nexcept E as e:\n    «g()»\n    raise\n", None),
        ("try:\n    f()\nexcept E as e:\n    «g()»\n    raise X from e\n", None),
        ("try:\n    f()\nexcept E:\n    «g()»\n    log.exception('x')\n", None),
        ("try:\n    f()\nexcept A:\n    «g()»\nexcept B:\n    pass\n", None),
        ("try:\n    f()\nexcept A:\n    «g()»\nfinally:\n    pass\n", None),
        ("try:\n    f()\nexcept A:\n    «g()»\nelse:\n    pass\n", None),
        ("try: f()\nexcept A: «g()»\n", None),
    ],
)
def test_move_behind(before: str, after: str | None) -> None:
    assert fixed(before, moved) == after
