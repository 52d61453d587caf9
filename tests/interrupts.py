"""Programs that a test interrupts as a terminal does."""

from __future__ import annotations

import signal


def heed() -> None:
    """In a child before it starts: Ctrl-C counts, even where the tests themselves were started in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
