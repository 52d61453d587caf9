"""Records which of a program's lines allocate memory and keep it. Runs inside the user's program.

This file is copied beside a `sitecustomize.py` that the program's interpreter imports at its start, so it needs nothing
but the standard library until the program itself imports torch. On a GPU the allocator's own history is read; without
one, the storages behind every operator's results are counted. What is known is written every few seconds and at the
end, so a program that is killed leaves its record too."""

# Strings for paths: pathlib is imported only if the program does so.
# ruff: noqa: PTH100, PTH105, PTH118, PTH120, PTH123

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import site
import sys
import sysconfig
import threading
import time
import weakref
from functools import partial
from typing import Any

FOLDER, DEVICE = "TORCHMEMLINT_TRACE", "TORCHMEMLINT_TRACE_DEVICE"
SAMPLES = 192  # of the lines' live bytes over the run; when there are more, every other is dropped
FLUSH = 3.0  # seconds
EVENTS = 400_000  # of the allocator's history
Lines = tuple[str, ...]  # "file:line" of the user's frames, innermost first

_own = os.path.dirname(os.path.abspath(__file__))
_paths = [sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_paths += [*getattr(site, "getsitepackages", list)(), site.getusersitepackages(), _own]
_installed = ("/site-packages/", "/dist-packages/")  # also where another environment's packages are seen
_library = tuple({os.path.realpath(path) + os.sep for path in _paths})


def arm() -> None:
    """Wait for the program to import torch."""
    if os.environ.get(FOLDER):
        sys.meta_path.insert(0, _AfterTorch())


class _AfterTorch:
    """Starts the recorder when torch has been imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Torch's own spec, whose loader calls `start` in the end."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_start(module: Any) -> None:
                load(module)
                start(module)

            spec.loader.exec_module = load_and_start  # type: ignore[method-assign]
        return spec


def start(torch: Any) -> None:
    """Record from now on; never raises into the program."""
    try:
        wanted = os.environ.get(DEVICE, "auto")
        cuda = wanted == "cuda" or (wanted == "auto" and torch.cuda.is_available())
        recorder = _Cuda(torch) if cuda else _Storages(torch)
        atexit.register(recorder.write)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=recorder.stop)
    except Exception as error:
        sys.stderr.write(f"torchmemlint: not recorded: {type(error).__name__}: {error}\n")


def is_users(path: str) -> bool:
    """Is it a file of the program, not of Python or an installed package?"""
    if path.startswith("<"):
        return False
    real = os.path.realpath(path)
    return not real.startswith(_library) and not any(name in real.replace("\\", "/") for name in _installed)


class Account:
    """Live bytes by line. A line has all bytes that were allocated while it ran, also deeper in the stack."""

    def __init__(self) -> None:
        self.live = self.peak = self.events = 0
        self.own: dict[Lines, int] = {}  # by whole stack
        self.at_peak: dict[Lines, int] = {}
        self.most: dict[str, int] = {}
        self.lines: dict[str, int] = {}
        self.samples: list[dict[str, int]] = []
        self._every, self._since = 4096, 0  # bytes allocated between samples; since the last one

    def change(self, stack: Lines, size: int) -> None:
        """Book an allocation, or with a negative size a release."""
        self.live += size
        self.own[stack] = self.own.get(stack, 0) + size
        for line in stack:
            now = self.lines[line] = self.lines.get(line, 0) + size
            if now > self.most.get(line, 0):
                self.most[line] = now
        if size < 0 and self.live - size == self.peak:  # the peak is over: this was its state
            self.at_peak = {k: v for k, v in self.own.items() if v}
            self.at_peak[stack] = self.at_peak.get(stack, 0) - size
        self.peak = max(self.peak, self.live)
        self.events += 1
        self._since += max(size, 0)
        if self._since >= self._every:
            self._sample()

    def _sample(self) -> None:
        self._since = 0
        self.samples.append({line: size for line, size in self.lines.items() if size})
        if len(self.samples) > SAMPLES:
            self.samples = self.samples[1::2]
            self._every *= 2

    def as_dict(self) -> dict[str, Any]:
        """What `trace` reads."""
        stacks = self.at_peak if self.live < self.peak else {k: v for k, v in self.own.items() if v}
        return {
            "peak": self.peak,
            "events": self.events,
            "at_peak": [[list(stack), size] for stack, size in stacks.items() if size > 0],
            "most": {line: size for line, size in self.most.items() if size > 0},
            "samples": self.samples,
        }


class _Recorder:
    def __init__(self, device: str) -> None:
        self.account = Account()
        self.device = device
        self.active = True
        self.process = os.getpid()
        self._written = time.monotonic()

    def stop(self) -> None:
        """Record no more: a forked child is another program."""
        self.active = False

    def data(self) -> dict[str, Any]:
        """What is known so far."""
        return self.account.as_dict()

    def write(self) -> None:
        """Write what is known so far; a half-written file never stands under the name that is read."""
        if not self.active or os.getpid() != self.process:
            return
        name = os.path.join(os.environ[FOLDER], f"{self.process}.json")
        try:
            data = {"device": self.device, "pid": self.process, "argv": sys.argv[:1], **self.data()}
            with open(f"{name}.new", "w", encoding="utf-8") as file:
                json.dump(data, file)
            os.replace(f"{name}.new", name)
        except Exception as error:
            sys.stderr.write(f"torchmemlint: the record can't be written: {error}\n")
        self._written = time.monotonic()

    def write_sometimes(self) -> None:
        """Write when the last time was a while ago."""
        if time.monotonic() - self._written > FLUSH:
            self.write()


class _Storages(_Recorder):
    """Counts the storages behind the results of operators, in every thread that runs them."""

    def __init__(self, torch: Any) -> None:
        super().__init__("cpu")
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils._pytree import tree_leaves

        self._torch, self._leaves = torch, tree_leaves
        self._known: dict[int, Any] = {}
        self._lock = threading.RLock()  # storages may die, by the garbage collector, while another is booked
        recorder = self

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                result = func(*args, **(kwargs or {}))
                if recorder.active:
                    recorder.book(result)
                return result

        self._mode = Mode()  # type: ignore[no-untyped-call]
        self._mode.__enter__()  # type: ignore[no-untyped-call]

    def book(self, result: Any) -> None:
        """Enter the new storages in a result."""
        stack: Lines | None = None
        for leaf in self._leaves(result):
            if not isinstance(leaf, self._torch.Tensor) or leaf.layout is not self._torch.strided:
                continue
            storage = leaf.untyped_storage()
            size, key = storage.nbytes(), storage._cdata
            if size == 0 or key in self._known:
                continue
            stack = stack if stack is not None else users_stack(sys._getframe(2))
            self._known[key] = weakref.ref(storage, partial(self._gone, key, stack, size))
            with self._lock:
                self.account.change(stack, size)
        self.write_sometimes()

    def _gone(self, key: int, stack: Lines, size: int, _: Any) -> None:
        self._known.pop(key, None)
        with self._lock:
            self.account.change(stack, -size)


def users_stack(frame: Any) -> Lines:
    """The program's own lines from this frame outwards."""
    lines = []
    while frame is not None:
        path = frame.f_code.co_filename
        if path not in _ours:
            _ours[path] = is_users(path)
        if _ours[path]:
            lines.append(f"{os.path.abspath(path)}:{frame.f_lineno}")
        frame = frame.f_back
    return tuple(lines)


_ours: dict[str, bool] = {}


class _Cuda(_Recorder):
    """Reads the caching allocator's history, which CUDA keeps from its start."""

    def __init__(self, torch: Any) -> None:
        super().__init__("cuda")
        self._torch = torch
        record = torch.cuda.memory._record_memory_history
        torch.cuda._lazy_call(lambda: record("all", context="alloc", stacks="python", max_entries=EVENTS))

    def data(self) -> dict[str, Any]:
        """The history of all devices, replayed."""
        if not self._torch.cuda.is_initialized():
            return self.account.as_dict()
        self.account = Account()
        for trace in self._torch.cuda.memory._snapshot()["device_traces"]:
            self._replay(trace)
        return self.account.as_dict()

    def _replay(self, trace: Any) -> None:
        stacks: dict[int, tuple[Lines, int]] = {}
        for event in trace:
            if event["action"] == "alloc":
                frames = [f for f in event.get("frames", ()) if is_users(f["filename"])]
                lines = tuple(f"{os.path.abspath(f['filename'])}:{f['line']}" for f in frames)
                stacks[event["addr"]] = (lines, event["size"])
                self.account.change(lines, event["size"])
            elif event["action"] == "free_requested" and event["addr"] in stacks:
                lines, size = stacks.pop(event["addr"])
                self.account.change(lines, -size)
