# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Attention functions: eager attention with fewer passes over memory, and torch's variable-length kernels.

The first is for dropout on a CPU and for single tokens of many texts. The kernels are for packed texts on CUDA devices:
they take the boundaries of the texts as a tensor, so there is no host-device synchronisation. torch exposes them only
as operators with private names.

Shapes: B batch, T query length, S key length, H heads, K key-value heads, D head size.
"""

from typing import Any

import torch
from torch import Tensor

from ..attention import additive
from .forwards import keep_mask, scale_of

HALVES = torch.float16, torch.bfloat16
DEVICES = "cuda", "meta"  # meta tensors have no values: a synchronisation would fail


def eager_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """softmax(Q K^T / sqrt(D) + mask) V without repeating keys; the values are scaled by 1 / (1 - p)."""
    rows = query.shape[1] // key.shape[1] * query.shape[2]  # queries of heads that share a key, in one product
    queries = (query * scaling).reshape(*key.shape[:2], rows, query.shape[-1])
    scores = queries @ key.contiguous().transpose(-2, -1)
    scores = scores.view(*query.shape[:-1], key.shape[2])  # (B, H, T, S)
    if position_bias is not None:
        scores = scores + position_bias
    if attention_mask is not None:
        scores = scores + additive(attention_mask, torch.float32)
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
    if dropout and (mask := keep_mask(weights, dropout)) is not None:
        weights, value = weights * mask, value * scale_of(dropout)
    elif dropout:
        weights = torch.nn.functional.dropout(weights, dropout)
    output = weights.view(*key.shape[:2], rows, key.shape[2]) @ value
    return output.view_as(query).transpose(1, 2).contiguous(), None


def has_varlen_kernels(device: torch.device, dtype: torch.dtype, head_dim: int, traced: bool) -> bool:
    """Return whether a kernel takes states of this dtype, or of autocast's. Kernels disabled in torch do not count.

    traced: in a graph, for which torch 2.13 cannot infer the gradient shapes of the memory-efficient kernel.
    """
    if device.type not in DEVICES or head_dim % 8 or head_dim > 256:
        return False
    if device.type == "cuda" and torch.is_autocast_enabled("cuda"):  # torch 2.11 traces no is_autocast_available
        dtype = torch.get_autocast_dtype("cuda")
    if dtype in HALVES and _has_flash(device, head_dim):
        return True
    if traced or dtype not in (torch.float32, torch.float16):
        return False
    return torch.backends.cuda.mem_efficient_sdp_enabled()


def _has_flash(device: torch.device, head_dim: int) -> bool:
    """Ampere and later; for wide heads, gradients with dropout exist only on A100 and H100."""
    if device.type == "cuda":
        capability = torch.cuda.get_device_capability(device)
        if capability < (8, 0) or (head_dim > 192 and capability not in ((8, 0), (9, 0))):
            return False
    if torch.compiler.is_compiling():  # the remaining checks would break the graph
        return True
    is_built = device.type == "meta" or torch.backends.cuda.is_flash_attention_available()
    return is_built and torch.backends.cuda.flash_sdp_enabled()


def varlen_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    scaling: float,
    *,
    dropout: float = 0.0,
    cu_seq_lens_q: Tensor,
    max_length_q: int,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """softmax(Q K^T / sqrt(D)) V within each text, in one kernel (Dao 2023; in float32 Rabe and Staats 2021).

    query (B, H, T, D), key and value (B, K, T, D) -> (B, T, H, D). Texts follow one another in the flattened B * T;
    cu_seq_lens_q (texts + 1,) holds their starts and the end of the last, max_length_q the length of the longest.
    """
    query, key, value = (states.transpose(1, 2).to(value.dtype) for states in (query, key, value))
    flat = query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)  # (tokens, H or K, D)
    attend = _flash if value.dtype in HALVES and _has_flash(value.device, value.shape[-1]) else _memory_efficient
    ends, longest = cu_seq_lens_q.to(torch.int32), int(max_length_q)
    output = attend(*flat, ends, ends, longest, longest, dropout, causal=module.is_causal, scale=scaling)
    return output.unflatten(0, query.shape[:2]), None


def _flash(query: Tensor, key: Tensor, value: Tensor, *options: Any, causal: bool, scale: float) -> Tensor:
    attend = torch.ops.aten._flash_attention_forward.default
    return attend(query, key, value, *options, causal, return_debug_mask=False, scale=scale)[0]


def _memory_efficient(query: Tensor, key: Tensor, value: Tensor, *options: Any, causal: bool, scale: float) -> Tensor:
    attend = torch.ops.aten._efficient_attention_forward.default
    shared = query.shape[1] // key.shape[1]
    if shared > 1:
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    states = query[None], key[None], value[None]
    return attend(*states, None, *options, int(causal), compute_log_sumexp=True, scale=scale)[0].squeeze(0)
