"""Real device memory, by the statistics of PyTorch's caching allocator: CUDA and ROCm through `torch.cuda`, other
accelerators through `torch.accelerator`."""

from __future__ import annotations

import contextlib
import gc
import shutil
import subprocess
import time
from typing import Any

import torch

from torchmemlint.verify.environment import MeterError
from torchmemlint.verify.usage import Usage

_EVENTS = 200_000  # of the allocator's history that are kept for the timeline


class DeviceMeter:
    """Context in which the allocator is watched. Everything is counted from what was alive at the entry, after the
    libraries' workspaces were made on both threads that run operators."""

    def __init__(self, name: str, limit: int | None = None) -> None:
        self.name = name
        self.device = _device(name)
        self._api: Any = torch.cuda if self.device.type == "cuda" else torch.accelerator
        self._cuda = self.device.type == "cuda"
        self._base: dict[str, int] = {}
        self._since_probe = 0
        self.usage = Usage()
        self.real = 0, 0.0  # at the last probe: bytes reserved, and the time
        _prepare(self.device, limit)
        self.card = torch.cuda.get_device_name(self.device) if self._cuda else str(self.device)

    def __enter__(self) -> DeviceMeter:
        warm_up(self.device)
        gc.collect()
        self._api.synchronize(self.device)
        self._reset_peak()
        self._base = self._figures()
        if self._cuda:
            torch.cuda.memory._record_memory_history("all", context=None, max_entries=_EVENTS)
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._cuda:
            with contextlib.suppress(Exception):
                torch.cuda.memory._record_memory_history(None)

    def _reset_peak(self) -> None:
        self._api.reset_peak_memory_stats(self.device)

    def _figures(self) -> dict[str, int]:
        stats = self._api.memory_stats(self.device)
        return {
            "live": stats.get("allocated_bytes.all.current", 0),
            "peak": stats.get("allocated_bytes.all.peak", 0),
            "allocated": stats.get("allocated_bytes.all.allocated", 0),
            "allocations": stats.get("allocation.all.allocated", 0),
            "reserved": stats.get("reserved_bytes.all.peak", 0),
        }

    def probe(self) -> None:
        """Take one sample, and begin a new step."""
        self._api.synchronize(self.device)
        self.real = int(self._api.memory_reserved(self.device)), time.perf_counter()
        now = self._sample()
        self.usage.probe(now["live"] - self._base["live"], self._since_probe)
        self._reset_peak()
        self._since_probe = now["live"] - self._base["live"]
        if self._cuda:
            self.usage.marks[-1] = len(self._changes())

    def _sample(self) -> dict[str, int]:
        """Read the statistics and bring the usage up to date."""
        now, base, usage = self._figures(), self._base, self.usage
        self._since_probe = now["peak"] - base["live"]
        usage.peak = max(usage.peak, self._since_probe)
        usage.allocated = now["allocated"] - base["allocated"]
        usage.allocations = now["allocations"] - base["allocations"]
        usage.reserved = max(usage.reserved or 0, now["reserved"] - base["reserved"])
        return now

    def close(self) -> None:
        """Note what is alive now, before and after garbage collection, and the timeline."""
        self._api.synchronize(self.device)
        self.usage.returned = self._sample()["live"] - self._base["live"]
        if self._cuda:
            live = 0
            for change in self._changes():
                live += change
                self.usage.timeline.append(live)
        gc.collect()
        self._api.synchronize(self.device)
        self.usage.settled = self._figures()["live"] - self._base["live"]

    def _changes(self) -> list[int]:
        """Bytes taken (positive) and given back, in order, from the allocator's history."""
        with contextlib.suppress(Exception):
            traces = torch.cuda.memory._snapshot(self.device)["device_traces"][self.device.index or 0]
            sign = {"alloc": 1, "free_requested": -1}
            return [sign[e["action"]] * int(e["size"]) for e in traces if e["action"] in sign]
        return []

    def details(self) -> dict[str, Any]:
        """Driver, toolkit and size of the card."""
        if not self._cuda:
            return {}
        found: dict[str, Any] = {"cuda": torch.version.cuda, "driver": _driver()}
        if torch.version.hip:
            found["hip"] = torch.version.hip
        found["cudnn"] = torch.backends.cudnn.version()
        found["memory"] = torch.cuda.get_device_properties(self.device).total_memory
        return found


def _device(name: str) -> torch.device:
    """The device called `name`. Raises MeterError when torch can't use or count it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise MeterError(f"torch knows no device `{name}`") from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            built = "is built without CUDA" if torch.version.cuda is None else "finds no GPU that it can use"
            raise MeterError(f"this torch ({torch.__version__}) {built}; `--device virtual` needs none")
        if device.index is not None and device.index >= torch.cuda.device_count():
            raise MeterError(f"there is no {device}: torch finds {torch.cuda.device_count()}")
        return torch.device("cuda", device.index or 0)
    _require_accelerator(device)
    return device


def _require_accelerator(device: torch.device) -> None:
    api = getattr(torch, "accelerator", None)
    current = api.current_accelerator() if api is not None and api.is_available() else None
    if current is None or current.type != device.type:
        raise MeterError(f"torch finds no accelerator `{device.type}` here; `--device virtual` needs none")
    if not hasattr(api, "memory_stats"):
        raise MeterError(f"torch {torch.__version__} can't count the memory of {device.type}; 2.9 and later may")


def _prepare(device: torch.device, limit: int | None) -> None:
    if device.type != "cuda":
        return
    torch.cuda.set_device(device)
    torch.backends.cudnn.benchmark = False  # its trials are the peak of the first step
    if limit is not None:
        total = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total), device)


def warm_up(device: torch.device) -> None:
    """Make cuBLAS's, cuBLASLt's and cuDNN's workspaces in the calling thread and in autograd's."""
    for dtype in (torch.float32, torch.bfloat16):
        with contextlib.suppress(RuntimeError, TypeError):  # a device without this type
            linear = torch.nn.Linear(64, 64, device=device, dtype=dtype)
            convolution = torch.nn.Conv2d(8, 8, 3, padding=1, device=device, dtype=dtype)
            x = torch.randn(64, 64, device=device, dtype=dtype, requires_grad=True)
            image = torch.randn(2, 8, 8, 8, device=device, dtype=dtype)
            y = (linear(x) @ x).sum() + torch.bmm(x[None], x[None]).sum() + convolution(image).sum()
            y.backward()


def _driver() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "unknown"
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(query, capture_output=True, text=True, timeout=20).stdout.split("\n")[0].strip()
    return "unknown"
