# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Kernels of CUDA, computed plainly on the CPU: variable-length attention without dropout, and gradients of RMSNorm.

Shapes: N tokens of all texts, H heads, K key-value heads, D head size.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _scores(query: Tensor, key: Tensor, ends: Tensor, causal: bool, scale: float) -> Tensor:
    """softmax(Q K^T * scale) within each text: (N, H, D), (N, H, D) -> (H, N, N)."""
    text = torch.bucketize(torch.arange(len(query)), ends[1:], right=True)
    is_seen = text[:, None] == text[None]
    is_seen = is_seen.tril() if causal else is_seen
    scores = torch.einsum("qhd,khd->hqk", query.float(), key.float()) * scale
    return scores.masked_fill(~is_seen, float("-inf")).softmax(-1)


def attention(query: Tensor, key: Tensor, value: Tensor, ends: Tensor, causal: bool, scale: float) -> Tensor:
    shared = query.shape[1] // key.shape[1]
    key, value = (states.repeat_interleave(shared, 1) for states in (key, value))
    weights = _scores(query, key, ends, causal, scale)
    return torch.einsum("hqk,khd->qhd", weights, value.float()).to(query.dtype)


def attention_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, ends: Tensor, causal: bool, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """dV = P^T dO, dS = P (dP - sum(dP P)) with dP = dO V^T, dQ = dS K * scale, dK = dS^T Q * scale."""
    shared, heads = query.shape[1] // key.shape[1], key.shape[1]
    keys, values = (states.repeat_interleave(shared, 1).float() for states in (key, value))
    weights = _scores(query, keys, ends, causal, scale)
    of_weights = torch.einsum("qhd,khd->hqk", gradient.float(), values)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))
    of_query = torch.einsum("hqk,khd->qhd", of_scores, keys) * scale
    of_key = torch.einsum("hqk,qhd->khd", of_scores, query.float()) * scale
    of_value = torch.einsum("hqk,qhd->khd", weights, gradient.float())
    of_key, of_value = (each.unflatten(1, (heads, shared)).sum(2) for each in (of_key, of_value))
    return of_query.to(query.dtype), of_key.to(key.dtype), of_value.to(value.dtype)


def _check_dropout(dropout: float) -> None:
    if dropout:
        raise NotImplementedError("the stand-in's attention kernels have no dropout")


def _flash(query: Tensor, key: Tensor, value: Tensor, *options: Any, scale: float, **_: Any) -> tuple[Tensor, ...]:
    ends, _, _, _, dropout, causal = options[:6]
    _check_dropout(dropout)
    nothing = torch.zeros(2, dtype=torch.long)
    output = attention(query, key, value, ends, causal, scale)
    return output, query.new_zeros(query.shape[1], len(query)).float(), nothing, nothing, query.new_zeros(0)


def _flash_backward(gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Any:
    _, _, ends, _, _, _, _, causal = rest[:8]
    return attention_backward(gradient, query, key, value, ends, causal, options["scale"])


def _efficient(query: Tensor, key: Tensor, value: Tensor, *options: Any, scale: float, **_: Any) -> tuple[Any, ...]:
    _, ends, _, longest, _, dropout, causal = options[:7]
    _check_dropout(dropout)
    output = attention(query[0], key[0], value[0], ends, bool(causal), scale)[None]
    nothing = torch.zeros((), dtype=torch.long)
    return output, query.new_zeros(1, query.shape[2], 0), nothing, nothing, longest, longest


def _efficient_backward(gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: Any, **options: Any) -> Any:
    ends, causal = rest[2], bool(rest[10])
    states = (gradient[0], query[0], key[0], value[0])
    gradients = attention_backward(*states, ends, causal, options["scale"])
    return *(each[None] for each in gradients), torch.zeros(0)


def _rms_norm_backward(
    gradient: Tensor, states: Tensor, shape: list[int], scale: Tensor, weight: Tensor | None, wanted: list[bool]
) -> tuple[Tensor, Tensor | None]:
    """y = w x s with s = (mean(x^2) + eps)^-1/2: dx = s (dy w - x s^2 mean(dy w x)), dw = sum(dy x s).

    Only builds of torch for CUDA have this operator; the others compute RMSNorm and its gradients in parts.
    """
    axes = tuple(range(-len(shape), 0))
    weighted = gradient if weight is None else gradient * weight
    of_states = scale * (weighted - states * scale**2 * (weighted * states).mean(axes, keepdim=True))
    return of_states, (gradient * states * scale).sum_to_size(shape) if wanted[1] else None


KERNELS: dict[str, Callable[..., Any]] = {
    "_flash_attention_forward": _flash,
    "_flash_attention_backward": _flash_backward,
    "_efficient_attention_forward": _efficient,
    "_efficient_attention_backward": _efficient_backward,
    "_fused_rms_norm_backward": _rms_norm_backward,
}
