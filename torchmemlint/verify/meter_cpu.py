"""Bytes that a program keeps alive, counted exactly without a GPU.

`Tracker.device` is `cpu:0`: for PyTorch the same memory as `cpu`, for the tracker the accelerator. What the program
makes there, moves there or computes from it counts as device memory; what it sends to plain `cpu` leaves the account,
as on a GPU. Temporaries inside a kernel are not seen.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchmemlint.verify.ledger import Ledger, taken_apart, tensors
from torchmemlint.verify.usage import Usage

_CONSTRUCTORS = (torch.tensor, torch.as_tensor, torch.asarray)  # they allocate below the dispatcher


class _Transfers(TorchFunctionMode):
    """Makes a move between `cpu:0` and `cpu` a real copy, as between a GPU and its host."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _CONSTRUCTORS:
            with _account(self._made_on_device(args, kwargs)):
                return func(*args, **kwargs)
        result = func(*args, **kwargs)
        target = _target(func, args, kwargs)
        if target is None or not isinstance(result, torch.Tensor):
            return result
        source = args[0]
        moved = self.ledger.on_device(source) != target
        if not moved or result.untyped_storage()._cdata != source.untyped_storage()._cdata:
            return result
        with _account(target):
            return result.clone()

    def _made_on_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if kwargs.get("device") is not None:
            return torch.device(kwargs["device"]).index is not None
        data = args[0] if args else kwargs.get("data")
        return isinstance(data, torch.Tensor) and self.ledger.on_device(data)


def _target(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | None:
    """True for a move to the device, False for one to the host, None for anything else."""
    if func is torch.Tensor.cpu:
        return False
    if func is not torch.Tensor.to:
        return None
    for value in (*args[1:], *kwargs.values()):
        if isinstance(value, (str, torch.device)):
            return torch.device(value).index is not None
        if isinstance(value, torch.Tensor):
            return None
    return None


_forced: list[bool] = []


@contextmanager
def _account(device: bool) -> Iterator[None]:
    _forced.append(device)
    try:
        yield
    finally:
        _forced.pop()


class _Storages(TorchDispatchMode):
    """Books the storage of every tensor that an operator returns."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = taken_apart(self, func, args, kwargs)
        if result is not NotImplemented:
            return result
        result = func(*args, **kwargs)
        device = self._lands_on_device(args, kwargs)
        for tensor in tensors(result):
            self.ledger.enter(tensor, device)
        return result

    def _lands_on_device(self, args: Any, kwargs: dict[str, Any]) -> bool:
        if _forced:
            return _forced[-1]
        if kwargs.get("device") is not None:
            return torch.device(kwargs["device"]).index is not None
        return any(self.ledger.on_device(tensor) for tensor in tensors((args, kwargs)))


class Tracker:
    """Context in which device memory is counted; call `probe` at each step boundary."""

    name = "cpu"
    device = torch.device("cpu", 0)

    def __init__(self, limit: int | None = None) -> None:
        self.ledger = Ledger(limit)
        self._modes = (_Transfers(self.ledger), _Storages(self.ledger))

    def __enter__(self) -> Tracker:
        gc.collect()
        for mode in self._modes:
            mode.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exc: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*exc)  # type: ignore[no-untyped-call]

    def probe(self) -> None:
        """Take one sample of the bytes alive."""
        self.ledger.probe()

    def close(self) -> None:
        """Note what is alive now, before and after garbage collection."""
        self.usage.returned = self.ledger.live
        gc.collect()
        self.usage.settled = self.ledger.live

    @property
    def usage(self) -> Usage:
        """The measurement so far."""
        return self.ledger.usage
