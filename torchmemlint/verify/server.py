"""A process that has imported torch and forks one fresh child for each measurement; it measures nothing itself and
never touches a device. Started as `python -m torchmemlint.verify.server`; reads jobs and writes results, one JSON
object a line. With `--once` (where there is no fork) it measures one job itself."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import tempfile
import time
from typing import IO, Any


def main() -> None:
    """Serve until standard input ends."""
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # asking for a GPU must not start CUDA
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a fixture prints must not reach the results
    if "--once" in sys.argv[1:]:
        from torchmemlint.verify.measure import measured

        _answer(answers, measured(json.loads(sys.stdin.readline())))
        return
    _preload()
    _answer(answers, {"status": "ready"})
    for line in sys.stdin:
        _answer(answers, in_child(json.loads(line)))


def _answer(stream: IO[str], result: dict[str, Any]) -> None:
    stream.write(json.dumps(result) + "\n")
    stream.flush()


def _preload() -> None:
    """Import what children would import one by one, seconds each."""
    from torchmemlint.verify import measure, meter_cpu

    assert measure
    assert meter_cpu
    with contextlib.suppress(Exception):
        import torch._dynamo

        from torchmemlint.verify import meter_virtual

        assert meter_virtual
        with torch._subclasses.FakeTensorMode():
            (torch.ones(4, 4) @ torch.ones(4, 4)).relu_()
    gc.collect()
    gc.freeze()  # collections in the children need not walk, and so copy, what was imported here


def in_child(job: dict[str, Any]) -> dict[str, Any]:
    """Measure in a fork of this process. `status` is timeout or crashed when the child gives no answer, and
    the message ends with the last line that it wrote."""
    source, sink = os.pipe()
    with tempfile.TemporaryFile() as noise:
        child = os.fork()
        if child == 0:
            os.close(source)
            _measure_and_exit(job, sink, noise.fileno())
        os.close(sink)
        try:
            data, expired = _read(source, job["timeout"])
        finally:
            os.close(source)
        if expired:
            os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
        result = _judged(data, expired, status, job, _last_line(noise))
    result["rss"] = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return result


def _measure_and_exit(job: dict[str, Any], sink: int, noise: int) -> None:
    """The child's whole life. Its exit handlers belong to the parent, so they are not run."""
    code = 1
    try:
        os.dup2(noise, 1)
        os.dup2(noise, 2)
        os.close(0)
        os.open(os.devnull, os.O_RDONLY)
        from torchmemlint.verify.measure import measured

        data = json.dumps(measured(job)).encode()
        while data:
            data = data[os.write(sink, data) :]
        code = 0
    except BaseException as error:
        os.write(2, f"\n{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(code)


def _read(source: int, timeout: float) -> tuple[bytes, bool]:
    """(all that comes, whether the time ran out before the end)."""
    data, end = b"", time.monotonic() + timeout
    while True:
        ready, _, _ = select.select([source], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return data, True
        part = os.read(source, 1 << 16)
        if not part:
            return data, False
        data += part


def _judged(data: bytes, expired: bool, status: int, job: dict[str, Any], last: str) -> dict[str, Any]:
    if expired:
        return {"status": "timeout", "message": f"still running after {job['timeout']:g} s: killed"}
    with contextlib.suppress(ValueError):
        return dict(json.loads(data))
    code = os.waitstatus_to_exitcode(status)
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return {"status": "crashed", "message": f"the process {how}{': ' + last if last else ''}"}


def _last_line(noise: IO[bytes]) -> str:
    noise.seek(0)
    lines = noise.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


if __name__ == "__main__":
    main()
