"""A GPU that is not there: PyTorch's Python backend for a device of its own, and what that interface leaves out.

Everything here is set up once in a process that measures one fixture and ends. The interface is experimental: `install`
raises whatever a torch release without it, or with another one, raises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

NAME = "vgpu"
_NARROW = "linear matmul mm bmm addmm baddbmm addbmm convolution conv1d conv2d conv3d prelu".split()
_WIDE = "cross_entropy_loss nll_loss mse_loss huber_loss l1_loss log_softmax softmax layer_norm pow".split()
_ONE_KERNEL = "silu_backward mish_backward _fused_rms_norm".split()  # operators that CUDA does not take to pieces
_keep: list[Any] = []  # libraries unregister their kernels when they are collected
_casts: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}


class _Backend:
    """What torch asks a device's module for."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """Fake tensors have no random values."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, *_: Any) -> torch.Tensor:
        return torch.zeros(16, dtype=torch.uint8)

    def set_rng_state(self, *_: Any) -> None:
        """Nothing to restore."""

    def device(self, *_: Any) -> Any:
        return contextlib.nullcontext()

    def synchronize(self, *_: Any) -> None:
        """Nothing runs."""

    def _lazy_call(self, *_: Any) -> None:
        """Nothing is initialised late."""


def install() -> torch.device:
    """Register the device with autocast and make modules movable to it."""
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
    _install_autocast()
    _install_kernels()
    nn.Module._apply = _apply  # type: ignore[method-assign]
    _let_optimizers_fuse()
    return torch.device(NAME)


def _install_kernels() -> None:
    """With a kernel of its own, never run, an operator reaches the tracker whole."""
    library = torch.library.Library("aten", "IMPL")
    for name in _ONE_KERNEL:
        with contextlib.suppress(RuntimeError, AttributeError):
            library.impl(name, _never_run, "PrivateUse1")
    _keep.append(library)


def _let_optimizers_fuse() -> None:
    """Optimizers take their foreach path for plain tensors only; on the real device the parameters are that."""
    from torch._subclasses import FakeTensor
    from torch.optim import optimizer

    optimizer._foreach_supported_types.append(FakeTensor)


def _never_run(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("the virtual device computes nothing")


def _install_autocast() -> None:
    key = "AutocastPrivateUse1"
    fallback, library = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    fallback.fallback(torch.library.fallthrough_kernel, key)
    for name, cast in [*((n, _narrow) for n in _NARROW), *((n, _wide) for n in _WIDE)]:
        for overload in ("default", "int", "Tensor_Scalar"):
            operator = getattr(getattr(torch.ops.aten, name), overload, None)
            if operator is not None:
                library.impl(operator, _casting(operator, cast), key)
    _keep.extend((fallback, library))
    leave = torch.autocast.__exit__

    def leave_and_forget(self: torch.autocast, *exc: Any) -> Any:
        result = leave(self, *exc)
        if not torch.is_autocast_enabled(NAME):
            _casts.clear()
        return result

    torch.autocast.__exit__ = leave_and_forget  # type: ignore[method-assign]


def _casting(operator: Any, cast: Callable[[Any], Any]) -> Callable[..., Any]:
    key = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, "AutocastPrivateUse1"))  # noqa: B009

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(key):
            return operator(*map(cast, args), **{name: cast(value) for name, value in kwargs.items()})

    return kernel


def _castable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.device.type == NAME


def _narrow(value: Any) -> Any:
    """The value in autocast's type; parameters are cast once until the outermost context ends."""
    if not _castable(value) or value.dtype is not torch.float32:
        return value
    if not (torch.is_autocast_cache_enabled() and value.requires_grad and value.is_leaf):
        return value.to(torch.get_autocast_dtype(NAME))
    if id(value) not in _casts:
        _casts[id(value)] = (value, value.to(torch.get_autocast_dtype(NAME)))
    return _casts[id(value)][1]


def _wide(value: Any) -> Any:
    return value.float() if _castable(value) and value.dtype in (torch.bfloat16, torch.float16) else value


def _apply(module: nn.Module, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> nn.Module:
    """`Module._apply` for fake parameters: torch's own one refuses to give a fake tensor another device in place."""
    for child in module.children() if recurse else ():
        child._apply(function)
    for parameter in module._parameters.values():
        if parameter is not None:
            _move(parameter, function)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)
    return module


@torch.no_grad()
def _move(parameter: nn.Parameter, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    gradient, parameter.grad = parameter.grad, None
    moved = function(parameter)
    if moved is not parameter:
        _become(parameter, nn.Parameter(moved, parameter.requires_grad))
    if gradient is not None:
        parameter.grad = function(gradient)


def _become(tensor: torch.Tensor, other: torch.Tensor) -> None:
    """Let the object `tensor` stand for what `other` stands for: optimizers and tied layers keep their reference."""
    tensor.__class__, other.__class__ = other.__class__, tensor.__class__
    tensor.__dict__, other.__dict__ = other.__dict__, tensor.__dict__
    torch._C._swap_tensor_impl(tensor, other)
