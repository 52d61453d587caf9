"""Runs one variant of one fixture under one meter, in this process, and returns plain data."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from torchmemlint.verify.cases import FACT
from torchmemlint.verify.usage import Usage

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "unable to allocate")
MOST_VALUES = 4096  # of a returned tensor that are compared one by one


@dataclass(frozen=True)
class Reading:
    """What a fact's program sees of the meter. `live`: bytes alive; `peak`: the highest since the last look."""

    live: int
    peak: int
    real: tuple[int, float] | None = None  # what only a device has: reserved bytes and the time when it was idle

    @property
    def reserved(self) -> int:
        """Bytes that the caching allocator has of the device. Raises MeterError without a device."""
        return self._real[0]

    @property
    def clock(self) -> float:
        """The time, as of `time.perf_counter`, when all work was done. Raises MeterError without a device."""
        return self._real[1]

    @property
    def _real(self) -> tuple[int, float]:
        from torchmemlint.verify.environment import MeterError

        if self.real is None:
            raise MeterError("reserved memory and time are those of a real device")
        return self.real


class Meter(Protocol):
    """Context in which a program's device memory is counted."""

    name: str
    device: Any

    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: Any) -> Any: ...
    def probe(self) -> None:
        """End of a step."""

    def close(self) -> None:
        """The program has returned."""

    @property
    def usage(self) -> Usage:
        """What was counted so far."""


def meter(name: str, limit: int | None) -> Meter:
    """The meter called `cpu`, `virtual`, `cuda[:N]` or as torch.accelerator calls its device. `limit`: bytes."""
    if name == "cpu":
        from torchmemlint.verify.meter_cpu import Tracker

        return Tracker(limit)
    if name == "virtual":
        from torchmemlint.verify.meter_virtual import VirtualMeter

        return VirtualMeter(limit)
    from torchmemlint.verify.meter_device import DeviceMeter

    return DeviceMeter(name, limit)


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Run the job `{meter, path, text, variant, limit}`. The result has `status` ok, failed or oom, a `message`, the
    `usage` and the returned `value`, or `environment` for the variant `probe` that only tries the meter."""
    started, clock = time.perf_counter(), time.process_time()
    try:
        result = _probed(job) if job["variant"] == "probe" else _run(job)
    except Exception as error:
        result = _failure(error, job["path"])
    result["seconds"] = round(time.perf_counter() - started, 3)
    result["cpu_seconds"] = round(time.process_time() - clock, 3)
    return result


def _failure(error: Exception, path: str) -> dict[str, Any]:
    text = f"{type(error).__name__}: {str(error).strip() or 'no message'}"
    oom = isinstance(error, MemoryError) or any(words in text.lower() for words in OUT_OF_MEMORY)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    where = f" (line {lines[-1]})" if lines else ""
    return {"status": "oom" if oom else "failed", "message": text.splitlines()[0][:300] + where}


def _probed(job: dict[str, Any]) -> dict[str, Any]:
    from torchmemlint.verify.environment import try_out

    return {"status": "ok", "environment": try_out(meter(job["meter"], job["limit"]))}


def _run(job: dict[str, Any]) -> dict[str, Any]:
    import torch

    counter = meter(job["meter"], job["limit"])
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if job["meter"] == "cpu":
        _limit_process(job["limit"])
    virtual = counter.name == "virtual"
    module = None if virtual else load(Path(job["path"]), job["text"])  # the virtual device needs its own tensors
    fact = job["variant"] == FACT
    with counter:
        module = module or load(Path(job["path"]), job["text"])
        value = getattr(module, job["variant"])(counter.device, partial(look, counter) if fact else counter.probe)
        counter.close()
        numbers = [{name: float(v) for name, v in value.items()}] if fact else None if virtual else digest(value)
    return {"status": "ok", "usage": counter.usage.thinned().as_dict(), "value": numbers}


def look(counter: Meter) -> Reading:
    """Take a sample and tell it."""
    counter.probe()
    return Reading(counter.usage.samples[-1], counter.usage.peaks[-1], getattr(counter, "real", None))


def load(path: Path, text: str) -> ModuleType:
    """A fresh module with the name of `path` and the code `text`, which need not be what the file has."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None:
        raise ImportError(f"{path} has no module name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and pickle look their module up
    sys.path.append(str(path.parent))
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def _limit_process(limit: int | None) -> None:
    """An allocation beyond the limit fails as an exception, where the system can do that."""
    if limit is None:
        return
    with contextlib.suppress(ImportError, ValueError, OSError, StopIteration):
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + limit, resource.RLIM_INFINITY))


def digest(value: Any) -> list[dict[str, Any]]:
    """The numbers in what a fixture returned: for each leaf its type and values, a long tensor by samples and sums."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [_leaf(leaf, torch) for leaf in tree_leaves(value)]


def _leaf(leaf: Any, torch: Any) -> dict[str, Any]:
    if isinstance(leaf, torch.Tensor):
        return {"type": str(leaf.dtype).rpartition(".")[2], "shape": list(leaf.shape), "values": _values(leaf, torch)}
    kinds: list[tuple[type, Callable[[Any], Any]]] = [(bool, bool), (int, int), (float, float)]
    for kind, convert in kinds:
        if isinstance(leaf, kind):
            return {"type": kind.__name__, "values": [convert(leaf)]}
    if hasattr(leaf, "item") and not getattr(leaf, "shape", ()):
        return _leaf(leaf.item(), torch)
    return {"type": type(leaf).__name__, "values": [str(leaf)]}


def _values(tensor: Any, torch: Any) -> list[Any]:
    flat = tensor.detach().reshape(-1).cpu()
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    flat = flat.to(torch.float64)
    if flat.numel() <= MOST_VALUES:
        return list(flat.tolist())
    step = flat.numel() // (MOST_VALUES // 8)
    return [flat.sum().item(), flat.abs().sum().item(), *flat[::step].tolist()]
