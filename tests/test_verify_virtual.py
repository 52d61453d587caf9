"""The virtual GPU: its bytes are those that a GPU was measured to use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchmemlint.verify.pool import Pool
from torchmemlint.verify.usage import Usage

MIB = 1 << 20
HEAD = """
import torch
import torch.nn.functional as F
from torch import nn


def bad(device, probe):
    T = (4096, 512)  # 8 MiB
    new = lambda *shape, **how: torch.randn(*(shape or T), device=device, **how)
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1) as started:
        yield started


def run(pool: Pool, body: str, meter: str = "virtual", **more: Any) -> dict[str, Any]:
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    job = {"meter": meter, "path": "made.py", "text": text, "variant": "bad", "limit": 1 << 30, "timeout": 60.0}
    return pool.run({**job, **more})


def used(pool: Pool, body: str) -> Usage:
    result = run(pool, body)
    assert result["status"] == "ok", result
    return Usage.from_dict(result["usage"])


@pytest.mark.parametrize(
    ("body", "peak", "held"),
    [
        ("x = new()\nprobe()", 8, 8),
        ("x = new()\ny = x + 1\ndel y\nprobe()", 16, 8),
        ("x = torch.randn(T).to(device)\nprobe()", 8, 8),
        ("x = new()\nx = x.cpu()\nprobe()", 8, 0),
        ("x = new()\ny = x[:10].t()\ndel x\nprobe()", 8, 8),
        ("x = new(requires_grad=True)\ny = x.exp().sin()\nprobe()", 24, 24),
        ("x = new()\nwith torch.no_grad():\n    y = x.exp().sin()\nprobe()", 24, 16),
        ("x = new()\nwith torch.inference_mode():\n    y = x.exp().sin()\nprobe()", 24, 16),
        ("x = new(requires_grad=True)\n(x * x).sum().backward()\nprobe()", 24, 16),
        ("x = new(requires_grad=True)\nF.silu(x).sum().backward()\nprobe()", 16, 16),
        ("x = new()\ny = F.mse_loss(x, x).detach()\nprobe()", 24, 16),
        ("x = new()\ny = F.huber_loss(x, x).detach()\nprobe()", 16, 8),
        ("x = new()\ny = x.sum(0)\nprobe()", 24, 8),
        ("x = new()\ny = x[x > 0]\nprobe()", 30, 12),
    ],
    ids=lambda v: v.replace("\n", "; ") if isinstance(v, str) else str(v),
)
def test_bytes_of_small_programs(body: str, peak: float, held: float, pool: Pool) -> None:
    usage = used(pool, body)
    assert usage.peak / MIB == pytest.approx(peak, abs=0.01)
    assert usage.held / MIB == pytest.approx(held, abs=0.01)


def test_modules_move_and_keep_their_parameters(pool: Pool) -> None:
    """Optimizers and tied layers see the moved parameter; 2 MiB of weights, and Adam's two states after the step."""
    usage = used(
        pool,
        "model = nn.Linear(512, 1024, bias=False)\n"
        "tied = nn.Linear(512, 1024, bias=False)\n"
        "tied.weight = model.weight\n"
        "optimizer = torch.optim.Adam(model.parameters())\n"
        "nn.Sequential(model, tied).to(device)\n"
        "assert tied.weight is model.weight and model.weight.device.type == device.type\n"
        "probe()\n"
        "model(new(16, 512)).sum().backward()\n"
        "optimizer.step()\n"
        "probe()",
    )
    assert usage.samples[0] == 2 * MIB
    assert usage.samples[1] - usage.samples[0] == pytest.approx(6 * MIB, abs=1024)


def test_autocast_is_virtual_too(pool: Pool) -> None:
    """Input and output take two bytes a value; the narrow copy of the weight lives as long as the context."""
    usage = used(
        pool,
        "layer = nn.Linear(512, 512, bias=False).to(device)\n"
        "x = new()\n"
        "probe()\n"
        "with torch.autocast(device.type, dtype=torch.bfloat16):\n"
        "    y = layer(x)\n"
        "    assert y.dtype is torch.bfloat16\n"
        "    probe()",
    )
    assert (usage.samples[1] - usage.samples[0]) / MIB == pytest.approx(4 + 4 + 0.5, abs=0.01)


def test_attention_takes_the_fused_kernel(pool: Pool) -> None:
    """Eight heads of 1024 tokens: the scores alone would be 32 MiB."""
    usage = used(
        pool, "q = new(1, 8, 1024, 64)\nwith torch.no_grad():\n    y = F.scaled_dot_product_attention(q, q, q)"
    )
    assert usage.peak <= 4.1 * MIB


def test_memory_has_a_limit(pool: Pool) -> None:
    result = run(pool, "kept = [new() for _ in range(20)]", limit=100 * MIB)
    assert result["status"] == "oom"
    body = "try:\n    kept = [new() for _ in range(20)]\nexcept torch.OutOfMemoryError:\n    kept = None\nprobe()"
    assert run(pool, body, limit=100 * MIB)["status"] == "ok"


def test_what_can_not_be_faked_is_an_error_and_no_number(pool: Pool) -> None:
    result = run(pool, "new().numpy()")
    assert result["status"] == "failed"
    assert "can't convert" in result["message"]


def test_each_measurement_starts_afresh(pool: Pool) -> None:
    """A process of its own: neither module state nor the random numbers of an earlier run are seen."""
    body = "nn.seen = getattr(nn, 'seen', 0) + 1\nreturn [nn.seen, torch.rand(1).item()]"
    first, second = run(pool, body, "cpu"), run(pool, body, "cpu")
    assert first["value"][0]["values"] == [1]
    assert first["value"] == second["value"]


def test_without_fork_a_new_interpreter_measures(tmp_path: Path) -> None:
    with Pool(1, fork=False) as pool:
        result = run(pool, "x = new()\nprobe()", "cpu")
        assert (result["status"], result["usage"]["samples"]) == ("ok", [8 * MIB])
        result = run(pool, "import os\nos._exit(5)", "cpu")
        assert result["status"] == "crashed"
        assert "exit code 5" in result["message"]
