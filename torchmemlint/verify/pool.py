"""Hands jobs to measuring processes, several at a time, and gets one result for each, whatever happens to them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

MODULE = "torchmemlint.verify.server"
PATIENCE = 30.0  # seconds beyond a job's own limit after which its process is given up
Job = dict[str, Any]
Result = dict[str, Any]
_T = TypeVar("_T")


class PoolError(Exception):
    """No measuring process can be started; the message ends with what it said."""


class Pool:
    """Use as a context. `fork` False starts a new interpreter for each job instead of forking one that is warm."""

    def __init__(self, workers: int, fork: bool | None = None) -> None:
        self.fork = hasattr(os, "fork") if fork is None else fork
        self._workers = max(1, workers)
        self._idle: queue.LifoQueue[subprocess.Popen[str] | None] = queue.LifoQueue()
        self._threads = ThreadPoolExecutor(self._workers)
        for _ in range(self._workers):
            self._idle.put(None)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: Any) -> None:
        self._threads.shutdown(cancel_futures=True)
        with contextlib.suppress(queue.Empty):
            while True:
                server = self._idle.get_nowait()
                if server is not None:
                    _end(server)

    def map(self, function: Callable[[_T], Any], items: Iterable[_T]) -> Iterator[Any]:
        """`function` of each item, in the order of the items; it calls `run` from several threads."""
        return self._threads.map(function, items)

    def run(self, job: Job) -> Result:
        """One measurement. Raises PoolError."""
        if not self.fork:
            return _once(job)
        server = self._idle.get()
        try:
            if server is None or server.poll() is not None:
                server = _start()
            return _ask(server, job)
        finally:
            self._idle.put(server)


def _command(*options: str) -> list[str]:
    return [sys.executable, "-m", MODULE, *options]


def _environment() -> dict[str, str]:
    """This process's environment, in which the same torchmemlint is found."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def _start() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=_environment()
    )
    assert server.stdout is not None
    if not server.stdout.readline():
        raise PoolError(f"the measuring process ended with exit code {server.wait()} before it was ready")
    return server


def _ask(server: subprocess.Popen[str], job: Job) -> Result:
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        return dict(json.loads(server.stdout.readline()))
    except (OSError, ValueError):
        _end(server)
        return {"status": "crashed", "message": "the measuring process itself ended"}


def _end(server: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        if server.stdin is not None:
            server.stdin.close()
    try:
        server.wait(timeout=5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if server.stdout is not None:
        server.stdout.close()


def _once(job: Job) -> Result:
    """The job in a new interpreter."""
    try:
        done = subprocess.run(
            _command("--once"),
            input=json.dumps(job) + "\n",
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=_environment(),
            timeout=job["timeout"] + PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "message": f"still running after {job['timeout'] + PATIENCE:g} s: killed"}
    with contextlib.suppress(ValueError):
        return dict(json.loads(done.stdout))
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {"status": "crashed", "message": f"the process ended with exit code {done.returncode}: {last[:300]}"}
