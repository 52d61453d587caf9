"""The account of storages that both back ends without a GPU keep."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from torchmemlint.verify.usage import Usage, rounded


class Ledger:
    """Which storages are alive, on whose account, and what that came to. Storages are counted once, however many
    tensors and saved tensors of the autograd graph share them. `limit`: bytes of device memory there are."""

    def __init__(self, limit: int | None = None) -> None:
        self.usage = Usage()
        self.live = 0
        self.limit = limit
        self._since_probe = 0
        self._known: dict[int, tuple[bool, weakref.ref[torch.UntypedStorage]]] = {}

    def on_device(self, tensor: torch.Tensor) -> bool:
        """Is the tensor's storage in device memory? Storages from before the account was opened are host memory."""
        entry = self._known.get(tensor.untyped_storage()._cdata)
        return entry is not None and entry[0]

    def enter(self, tensor: torch.Tensor, device: bool, at_least: int = 0) -> None:
        """Book the storage of a tensor unless it is booked already; `at_least`: bytes that the device's kernel is known
        to take for it. Raises torch.OutOfMemoryError beyond the limit."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        size = rounded(max(storage.nbytes(), at_least)) if device else 0
        self._known[key] = (device, weakref.ref(storage, partial(self._leave, key, size)))
        if size:
            self.usage.allocated += size
            self.usage.allocations += 1
            self._change(size)

    def spike(self, size: int) -> None:
        """Memory that a kernel takes and gives back before its operator returns."""
        if size > 0:
            self._change(rounded(size))
            self._change(-rounded(size))

    def probe(self) -> None:
        """Take one sample of what is alive."""
        self.usage.probe(self.live, self._since_probe)
        self._since_probe = self.live

    def _change(self, size: int) -> None:
        self.live += size
        self._since_probe = max(self._since_probe, self.live)
        self.usage.peak = max(self.usage.peak, self.live)
        self.usage.timeline.append(self.live)
        if self.limit is not None and size > 0 and self.live > self.limit:
            raise torch.OutOfMemoryError(f"out of memory: {self.live} bytes alive, the limit is {self.limit}")

    def _leave(self, key: int, size: int, _: object) -> None:
        del self._known[key]
        if size:
            self._change(-size)


def tensors(tree: Any) -> Iterable[torch.Tensor]:
    """The tensors in a nest of containers."""
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))


def taken_apart(mode: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a compound operator run as its parts under `mode`, so that these are booked too. In inference mode,
    and on tensors made there, such operators reach a dispatch mode whole; NotImplemented for any other operator."""
    if not _compound(func):
        return NotImplemented
    if not torch.is_inference_mode_enabled() and not any(t.is_inference() for t in tensors((args, kwargs))):
        return NotImplemented
    with mode:
        return func.decompose(*args, **kwargs)


@cache
def _compound(func: Any) -> bool:
    keys = torch._C.DispatchKey
    if func.namespace != "aten" or func.has_kernel_for_dispatch_key(keys.CPU):
        return False
    return bool(func.has_kernel_for_dispatch_key(keys.CompositeImplicitAutograd))
