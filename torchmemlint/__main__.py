"""The command as a process: `torchmemlint`, `python -m torchmemlint`."""

from __future__ import annotations

import atexit
import gc

from torchmemlint.cli import OWN_PROCESS, main


def run() -> None:
    """Run the command line. What it has made goes with the process: a last collection would take a tenth of its
    time."""
    atexit.register(gc.freeze)
    main(prog_name="torchmemlint", obj=OWN_PROCESS)


if __name__ == "__main__":
    run()
