"""The command as a process: `torchmemlint`, `python -m torchmemlint`."""

from __future__ import annotations

import atexit
import gc

from torchmemlint.cli import main


def run() -> None:
    """Run the command line. What it has made goes with the process: a last collection would take a tenth of its
    time."""
    atexit.register(gc.freeze)
    main(prog_name="torchmemlint")


if __name__ == "__main__":
    run()
