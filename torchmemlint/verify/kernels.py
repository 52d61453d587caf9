"""Kernels that CUDA chooses by itself where PyTorch's generic code would compose operators."""

from __future__ import annotations

from typing import Any

import torch

from torchmemlint.verify.virtual_device import NAME

aten = torch.ops.aten


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """The kernel that CUDA would choose: flash for two-byte types without a mask, else the memory-efficient one."""
    narrow = query.dtype in (torch.float16, torch.bfloat16) and attn_mask is None
    if query.device.type != NAME or (enable_gqa and not narrow):  # groups of heads share keys in the flash kernel only
        plain = torch._C._nn.scaled_dot_product_attention
        return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if narrow:
        return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
    needs = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    bias = _bias(attn_mask, query, key) if attn_mask is not None else None
    efficient = aten._scaled_dot_product_efficient_attention
    return efficient(query, key, value, bias, needs, dropout_p, is_causal, scale=scale)[0]


def _bias(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    if mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(~mask, float("-inf"))
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


def softmax(fused: Any, name: str, tensor: torch.Tensor, dim: int | None = None, *args: Any, **kwargs: Any) -> Any:
    """Softmax of float16 with a float32 result converts in the kernel; everything else is the method `name`."""
    dtype = kwargs.get("dtype", args[-1] if args and isinstance(args[-1], torch.dtype) else None)
    if dim is None or tensor.device.type != NAME or tensor.dtype is not torch.float16 or dtype is not torch.float32:
        return getattr(torch, name)(tensor, dim if dim is not None else _last(tensor), dtype=dtype)
    return fused(tensor, dim, True)


def _last(tensor: torch.Tensor) -> int:
    """The dimension that `functional.softmax` takes when none is named."""
    return 0 if tensor.dim() in (0, 1, 3) else 1
