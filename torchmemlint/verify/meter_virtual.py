"""Predicts the bytes a GPU would use: the program runs on fake tensors of a virtual device, which have shapes and
storages but no values. Sizes are rounded as CUDA's caching allocator rounds them, and what its kernels hide is added
(hidden.py). Questions about values get constant answers; `verify` compares the number of steps with a real run."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchmemlint.verify import virtual_device
from torchmemlint.verify.hidden import buffer_of, transient
from torchmemlint.verify.kernels import attention, softmax
from torchmemlint.verify.ledger import Ledger, taken_apart, tensors
from torchmemlint.verify.usage import Usage

aten = torch.ops.aten
CALIBRATION = "hidden kernels ledger meter_virtual virtual_device".split()  # the modules that a prediction depends on
_FUSED_STEPS = tuple(f"aten::_fused_{name}" for name in ("adam", "adamw", "sgd", "adagrad"))


def constant(dtype: torch.dtype) -> float | int | bool:
    """What a value of the virtual device reads as."""
    if dtype is torch.bool:
        return False
    return 0.5 if dtype.is_floating_point else 1


class _Host(TorchFunctionMode):
    """Calls that need values, or that decide by the device how to compute."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        answer = _CALLS.get(func)
        return answer(*args, **kwargs) if answer is not None else func(*args, **kwargs)


def _numpy(tensor: torch.Tensor, **_: Any) -> Any:
    if tensor.device.type == virtual_device.NAME:
        raise TypeError(f"can't convert {tensor.device} tensor to numpy. Use Tensor.cpu() first.")
    import numpy as np

    kind = str(tensor.dtype).rpartition(".")[2]
    return np.full(tuple(tensor.shape), constant(tensor.dtype), dtype=kind)


def _tolist(tensor: torch.Tensor) -> Any:
    value: Any = constant(tensor.dtype)
    for length in reversed(tensor.shape):
        value = [value] * length
    return value


def _deepcopy(tensor: torch.Tensor, memo: dict[int, Any]) -> Any:
    """As for real tensors: a parameter's copy has no gradient."""
    if id(tensor) not in memo:
        copy = tensor.detach().clone()
        memo[id(tensor)] = (
            torch.nn.Parameter(copy, tensor.requires_grad)
            if isinstance(tensor, torch.nn.Parameter)
            else copy.requires_grad_(tensor.requires_grad)
        )
    return memo[id(tensor)]


_CALLS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.numpy: _numpy,
    torch.Tensor.__array__: lambda tensor, dtype=None: (
        _numpy(tensor) if dtype is None else _numpy(tensor).astype(dtype)
    ),
    torch.Tensor.__format__: lambda tensor, how: format(constant(tensor.dtype) if tensor.dim() == 0 else "", how),
    torch.Tensor.tolist: _tolist,
    torch.Tensor.__deepcopy__: _deepcopy,
    **dict.fromkeys((torch.softmax, torch.Tensor.softmax, F.softmax), partial(softmax, aten._softmax, "softmax")),
    **dict.fromkeys(
        (torch.log_softmax, torch.Tensor.log_softmax, F.log_softmax),
        partial(softmax, aten._log_softmax, "log_softmax"),
    ),
    torch.Tensor.pin_memory: lambda tensor, *_: tensor,
}


def _half(mask: torch.Tensor) -> torch.Tensor:
    """The indices of a mask of which half is set."""
    return mask.new_empty((mask.numel() // 2, mask.dim()), dtype=torch.int64)


def _distinct(tensor: torch.Tensor, *_: Any) -> tuple[torch.Tensor, ...]:
    """`unique` of values of which half are distinct, with the indices and counts that come with them."""
    values = tensor.new_empty(max(1, tensor.numel() // 2))
    return values, tensor.new_empty(tensor.shape, dtype=torch.int64), torch.empty_like(values, dtype=torch.int64)


def _gru_gradients(gradient: torch.Tensor, has_bias: bool) -> tuple[torch.Tensor | None, ...]:
    rows, width = gradient.shape
    gates = [gradient.new_empty(rows, 3 * width) for _ in range(2)]
    biases = [gradient.new_empty(3 * width) if has_bias else None for _ in range(2)]
    return gates[0], gates[1], torch.empty_like(gradient), biases[0], biases[1]


_ANSWERS: dict[Any, Callable[..., Any]] = {  # operators whose result is a Python value
    aten._local_scalar_dense.default: lambda tensor: constant(tensor.dtype),
    aten.equal.default: lambda *_: True,
    aten.allclose.default: lambda *_: True,
    aten.is_nonzero.default: lambda *_: False,
}
_SHAPES: dict[Any, Callable[..., Any]] = {  # results whose shape depends on values, or that torch can't fake
    aten.nonzero.default: _half,
    aten.masked_select.default: lambda tensor, mask: tensor.new_empty(tensor.numel() // 2),
    aten._unique2.default: _distinct,
    aten._thnn_fused_gru_cell.default: lambda gates, _, state, *__: (
        torch.empty_like(state),
        state.new_empty(len(state), 5 * state.shape[1]),
    ),
    aten._thnn_fused_gru_cell_backward.default: lambda gradient, _, has_bias: _gru_gradients(gradient, has_bias),
    aten.bincount.default: lambda tensor, _=None, least=0: tensor.new_empty(
        least or max(1, tensor.numel() // 2), dtype=torch.int64
    ),
}


def _gradients_meet(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Does autograd add up two gradients of one tensor? For plain tensors it adds in place where nobody else has the
    first one's storage; for fake ones it never does."""
    if torch._C._current_graph_task_id() == -1 or torch.is_grad_enabled() or kwargs:
        return False
    node = torch._C._current_autograd_node()
    if isinstance(node, torch.autograd.function.BackwardCFunction) or not all(
        isinstance(a, torch.Tensor) for a in args
    ):
        return False
    first, second = args
    mine = torch._C._storage_Use_Count(first.untyped_storage()._cdata) == 2  # the tensor's and this call's
    return mine and first.shape == second.shape and first.is_contiguous()


class _Storages(TorchDispatchMode):
    """Books the results of every operator, and what the device's kernel takes beside them."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        parts = taken_apart(self, func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args)
        if func is aten.add.Tensor and _gradients_meet(args, kwargs):
            return args[0]
        if func is aten._to_copy.default and getattr(args[0], "constant", None) is not None:
            args[0].constant = None  # else its value is computed on the device, which can't
        if func._schema.name.startswith(_FUSED_STEPS):
            return None
        shape = _SHAPES.get(func)
        if shape is not None:
            return self._book(func, args, shape(*args))
        if func is aten.index.Tensor:
            args = (args[0], self._without_masks(args[1]))
        return self._book(func, args, func(*args, **kwargs))

    def _without_masks(self, indices: Any) -> list[Any]:
        plain: list[Any] = []
        for index in indices:
            if index is None or index.dtype is not torch.bool:
                plain.append(index)
                continue
            chosen = _half(index)
            self._enter(chosen)
            plain += [chosen.select(1, i) for i in range(index.dim())]
        return plain

    def _book(self, func: Any, args: tuple[Any, ...], result: Any) -> Any:
        name = func._schema.name
        for i, tensor in enumerate(tensors(result)):
            self._enter(tensor, buffer_of(name, args, tensor) if i == 0 else 0)
        if any(t.device.type == virtual_device.NAME for t in tensors(result)):
            self.ledger.spike(transient(name.partition("::")[2], args, result))
        return result

    def _enter(self, tensor: torch.Tensor, at_least: int = 0) -> None:
        self.ledger.enter(tensor, tensor.device.type == virtual_device.NAME, at_least)


class VirtualMeter:
    """Context in which the program runs on the virtual device. One for each process."""

    name = "virtual"

    def __init__(self, limit: int | None = None) -> None:
        self.ledger = Ledger(limit)
        self.device = virtual_device.install()
        torch.nn.functional.scaled_dot_product_attention = attention  # modes don't see calls inside torch's functions
        self._contexts = contextlib.ExitStack()

    def __enter__(self) -> VirtualMeter:
        from torch._subclasses.fake_tensor import FakeTensorMode

        gc.collect()
        self._contexts.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        torch._C._set_only_lift_cpu_tensors(True)
        self._contexts.callback(torch._C._set_only_lift_cpu_tensors, False)
        self._contexts.enter_context(_Storages(self.ledger))
        self._contexts.enter_context(_Host())
        return self

    def __exit__(self, *exc: Any) -> None:
        self._contexts.__exit__(*exc)

    def details(self) -> dict[str, Any]:
        """Which version of the rules predicts: two predictions with the same one are alike."""
        sources = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in CALIBRATION]
        return {"calibration": hashlib.sha256(b"".join(sources)).hexdigest()[:12]}

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
