"""A command line that grows through a recursion of joined lists: no program asks the driver here."""

import os
import subprocess
import sys


def commands(cwd, name=None):
    command = [sys.executable, "-m", "job"]
    command = command + (["-n", name] if name else [])
    for rank in range(1, 3):
        command = [sys.executable] + command + [f"rank={rank}"]
        command = list(command)
        subprocess.run([*command, os.path.join(cwd, "x")] if rank > 5 else ["true"], check=False)
    return command


if __name__ == "__main__":
    print(len(commands(".")))
