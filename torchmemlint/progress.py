"""A progress bar on standard error: asked for, or on a terminal when the run takes longer than a moment."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

PATIENCE = 2.0  # seconds without a bar


class Bar:
    """Called with (what, done, total); shows a bar once it is due."""

    def __init__(self, delay: float) -> None:
        self.start, self.delay = time.monotonic(), delay
        self.display: Any = None
        self.tasks: dict[str, Any] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.display is None:
            if time.monotonic() - self.start < self.delay:
                return
            self._show()
        if what not in self.tasks:
            self.tasks[what] = self.display.add_task(what, total=total)
        self.display.update(self.tasks[what], completed=done, total=total)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self.display = Progress(*columns, console=Console(stderr=True), transient=sys.stderr.isatty())
        self.display.start()

    def close(self) -> None:
        """Take the bar away."""
        if self.display is not None:
            self.display.stop()


@contextlib.contextmanager
def bar(wanted: bool | None) -> Iterator[Bar | None]:
    """A bar at once (True), never (False), or after a moment on a terminal (None)."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    shown = Bar(0.0 if wanted else PATIENCE)
    try:
        yield shown
    finally:
        shown.close()
