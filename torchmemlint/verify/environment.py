"""What a measurement was made on, and whether the meter counts at all."""

from __future__ import annotations

import datetime
import platform
from typing import Any

CANARY = 4 << 20  # bytes; allocated once to see whether the statistics move


class MeterError(Exception):
    """The meter can't be used here; the message says why and what to do."""


def try_out(meter: Any) -> dict[str, Any]:
    """Allocate a canary and take a step of training under `meter`; returns the environment. Raises MeterError."""
    import torch

    with meter:
        canary = torch.empty(CANARY, dtype=torch.uint8, device=meter.device)
        meter.probe()
        del canary
        _train(torch, meter.device)
        meter.probe()
        meter.close()
    usage = meter.usage
    if usage.samples[0] < CANARY or usage.peak < CANARY or usage.samples[-1] >= usage.peak:
        raise MeterError(
            f"{CANARY} bytes were allocated, and the statistics show {usage.samples[0]}: "
            "PYTORCH_NO_CUDA_MEMORY_CACHING and other allocators than the caching one switch them off"
        )
    return environment(meter)


def _train(torch: Any, device: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(256, 64).to(device)
    torch.nn.functional.cross_entropy(model(x), x[:, :8].argmax(1)).backward()
    optimizer.step()
    assert next(model.parameters()).grad is not None


def environment(meter: Any) -> dict[str, Any]:
    """Card, driver and versions, as JSON."""
    import torch

    from torchmemlint import __version__

    now = datetime.datetime.now(datetime.timezone.utc)
    found: dict[str, Any] = {
        "meter": meter.name,
        "device": getattr(meter, "card", {"cpu": "CPU", "virtual": "virtual GPU"}.get(meter.name, meter.name)),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "torchmemlint": __version__,
        "date": now.date().isoformat(),
        "time": now.strftime("%H:%M:%SZ"),
    }
    found.update(getattr(meter, "details", dict)())
    return found
