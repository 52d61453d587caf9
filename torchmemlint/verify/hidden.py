"""Device memory that fake tensors do not show: what CUDA kernels take and give back inside one operator, and results
that live on a larger storage than their shape says. Measured on an NVIDIA H200 with torch 2.11 and written down as one
short function for each operator; docs/verify.md tells how good the sum of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Rule = Callable[[tuple[Any, ...], Any], int]  # (arguments, result) -> bytes
SPLIT = 512  # values per result from which a reduction over leading dimensions is split into blocks
MOST_RESULTS = 4096  # with more results than this the device is busy without splitting
MOST_PARTIAL = 1 << 24  # values that the blocks of a whole device hold at once
WHOLE_BUFFER = frozenset(  # scalars on the storage of the elementwise buffer: pytorch#185647
    "aten::mse_loss aten::smooth_l1_loss aten::soft_margin_loss aten::binary_cross_entropy".split()
)


def transient(name: str, args: tuple[Any, ...], result: Any) -> int:
    """Bytes that the operator `name` (without namespace) takes beside its results and gives back before it returns."""
    rule = _RULES.get(name)
    return rule(args, result) if rule is not None and args and isinstance(args[0], torch.Tensor) else 0


def buffer_of(name: str, args: tuple[Any, ...], result: torch.Tensor) -> int:
    """Bytes of the storage behind a result of the qualified operator `name` where that is more than its shape says."""
    return size(args[0]) if name in WHOLE_BUFFER and result.dim() == 0 else 0


def size(tensor: torch.Tensor) -> int:
    """Bytes of the values of a tensor, written out."""
    return int(tensor.numel() * tensor.element_size())


def _expanded(tensor: torch.Tensor) -> bool:
    return tensor.numel() > 1 and 0 in tensor.stride()


def _blocks(bytes_per_value: int) -> Rule:
    """Reductions over leading dimensions keep the partial results of every block in a buffer, up to the input's length;
    sums of booleans and short integers are converted to int64 first."""

    def rule(args: tuple[Any, ...], result: Any) -> int:
        source, out = args[0], result[0] if isinstance(result, tuple) else result
        kept = out.numel()
        if not source.is_floating_point() and not source.is_complex():
            return (
                source.numel() * 8
                if source.element_size() < 8 and out.dtype is torch.int64 and bytes_per_value == 8
                else 0
            )
        if out.dtype is torch.float64 and source.dtype is not torch.float64:
            return int(source.numel()) * 8
        if source.dim() < 2 or not 1 < kept <= MOST_RESULTS or source.numel() < SPLIT * kept or _expanded(source):
            return 0
        partial = min(source.numel(), MOST_PARTIAL)
        return partial * bytes_per_value if out.shape[-1:] == source.shape[-1:] else 0

    return rule


def _like_input(args: tuple[Any, ...], _: Any) -> int:
    return size(args[0])


def _float_copy(args: tuple[Any, ...], _: Any) -> int:
    return int(args[0].numel()) * 4


def _written_out(args: tuple[Any, ...], _: Any) -> int:
    """Matrix products and layer norms read dense operands: an expanded one is copied first."""
    return sum(size(a) for a in args if isinstance(a, torch.Tensor) and a.dim() >= 2 and _expanded(a))


def _expanded_gradient(args: tuple[Any, ...], _: Any) -> int:
    return size(args[0]) if _expanded(args[0]) else 0


def _flash_backward(args: tuple[Any, ...], _: Any) -> int:
    """The query's gradient is summed in float32; one value for each row is kept beside it."""
    gradient, query, statistics = args[0], args[1], args[5]
    return 4 * int(query.numel()) + size(statistics) + _expanded_gradient((gradient,), None)


def _efficient_backward(args: tuple[Any, ...], _: Any) -> int:
    return 4 * int(args[1].numel()) + 3 * size(args[6]) + _expanded_gradient(args, None)


def _other_layout(data: torch.Tensor, weight: torch.Tensor, second: torch.Tensor) -> int:
    """Convolutions in float32 work on channels-last copies of what they read and write."""
    if data.dtype is not torch.float32 or weight.shape[-1] == 1:
        return 0
    return 4 * (data.numel() + second.numel())


def _sort_buffers(_: tuple[Any, ...], result: Any) -> int:
    return 5 * size(result)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("sum", "mean", "amax", "amin"), _blocks(8)),
    **dict.fromkeys(("var", "var_mean", "std", "std_mean", "argmax", "argmin"), _blocks(32)),
    **dict.fromkeys(("huber_loss", "mse_loss", "smooth_l1_loss", "_softmax_backward_data", "im2col"), _like_input),
    "soft_margin_loss": lambda args, _: 3 * size(args[0]),
    "logsumexp": _float_copy,
    "_scaled_dot_product_flash_attention_backward": _flash_backward,
    "_scaled_dot_product_efficient_attention_backward": _efficient_backward,
    **dict.fromkeys(("mm", "addmm"), _written_out),
    **dict.fromkeys(("native_layer_norm_backward", "_fused_rms_norm_backward"), _expanded_gradient),
    "convolution": lambda args, result: _other_layout(args[0], args[1], result),
    "convolution_backward": lambda args, _: _other_layout(args[0], args[2], args[1]),
    "randperm": _sort_buffers,
}
