# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Attention: eager with fewer passes over memory, by torch's variable-length kernels, and that of the last block.

The first is for dropout on a CPU and for single tokens of many texts. The kernels are for packed texts on CUDA devices:
they take the boundaries of the texts as a tensor, so there is no host-device synchronisation. torch exposes them only
as operators with private names. The last block is computed only for the tokens that a head reads; the others are only
keys and values.

Shapes: B batch, T query length, S key length, N tokens that the head reads, H heads, K key-value heads, D head size.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from ..attention import Attention, additive
from ..positions import rotate
from ..stack import Block
from .forwards import keep_mask, scale_of
from .hooks import is_plain_linear
from .packing import Packing, select

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


def has_varlen_kernel(device: torch.device, dtype: torch.dtype, head_dim: int, traced: bool) -> bool:
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
    ends, longest = cu_seq_lens_q.to(torch.int32), int(max_length_q)
    options = ends, ends, longest, longest, dropout, module.is_causal
    if value.dtype in HALVES and _has_flash(value.device, value.shape[-1]):
        attend = torch.ops.aten._flash_attention_forward.default
        output = attend(*flat, *options, return_debug_mask=False, scale=scaling)[0]
    else:
        attend = torch.ops.aten._efficient_attention_forward.default
        if (shared := query.shape[2] // key.shape[2]) > 1:
            flat = flat[0], flat[1].repeat_interleave(shared, 1), flat[2].repeat_interleave(shared, 1)
        states = [each[None] for each in flat]
        output = attend(*states, None, *options, compute_log_sumexp=True, scale=scaling)[0].squeeze(0)
    return output.unflatten(0, query.shape[:2]), None


def last_block(
    block: Block, hidden_states: Tensor, indices: Tensor, attend: Callable[[Attention, Tensor], Tensor]
) -> Tensor:
    """Block.forward for the tokens at indices (N,) of the flattened B * T: (B, T, hidden) -> (1, N, hidden).

    attend(attention, states (B, T, hidden)) returns (1, N, hidden): attend_then_select or attend_once.
    """
    residual = block.attention_residual
    update = attend(block.attention, residual.before(hidden_states))
    hidden_states = residual.after(select(hidden_states, indices), update)
    residual = block.feed_forward_residual
    return residual.after(hidden_states, block.feed_forward(residual.before(hidden_states)))


def attend_then_select(
    attention: Attention, states: Tensor, indices: Tensor, mask: Any, attention_fn: Callable | None, **kwargs: Any
) -> Tensor:
    """Attention for all tokens, output projection for those at indices (N,): (B, T, hidden) -> (1, N, hidden)."""
    name = attention.config._attn_implementation
    backend = attention_fn or ALL_ATTENTION_FUNCTIONS.get_interface(name, eager_attention)

    def select_output(*args: Any, **options: Any) -> tuple[Tensor, Any]:
        output, weights = backend(*args, **options)
        return select(output, indices), weights

    return attention(states, mask, attention_fn=select_output, **kwargs)[0]


def attend_once(
    attention: Attention, states: Tensor, indices: Tensor, packing: Packing, rotary: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Attention for one token per text, at packed indices (N,): (1, tokens, hidden) -> (1, N, hidden)."""
    by_head = -1, attention.head_dim
    query = attention.q_norm(attention.q_proj(select(states, indices)).unflatten(-1, by_head))  # (1, N, H, D)
    dropout = attention.config.attention_dropout if attention.training else 0.0
    options = {"dropout": dropout, "scaling": attention.scaling}
    attend: Callable = partial(packing.attend_once, indices, eager_attention, attention, **options)
    projections = attention.k_proj, attention.v_proj
    have_equal_biases = (projections[0].bias is None) == (projections[1].bias is None)
    is_linear = rotary is None and isinstance(attention.k_norm, nn.Identity)
    if is_linear and have_equal_biases and all(map(is_plain_linear, projections)):
        return attention.o_proj(_attend_to_states(attention, query, states, attend))
    if rotary is not None:
        query = rotate(query, *(select(part, indices) for part in rotary))
    key, value = (project(states).unflatten(-1, by_head) for project in projections)  # (1, tokens, K, D)
    key = attention.k_norm(key)
    key = key if rotary is None else rotate(key, *rotary)
    output = attend(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2))
    return attention.o_proj(output.flatten(-2))


def _attend_to_states(attention: Attention, query: Tensor, states: Tensor, attend: Callable) -> Tensor:
    """q . (W_K x) = (W_K^T q) . x, and sum_i a_i W_V x_i = W_V sum_i a_i x_i.

    So both projections apply to the few queries instead of all keys: all heads share the hidden states as their one key
    and one value. query (1, N, H, D) -> (1, N, H * D).
    """
    keys, values = (_weight_of_heads(attention, layer) for layer in (attention.k_proj, attention.v_proj))
    states = states if attention.k_proj.bias is None else F.pad(states, (0, 1), value=1.0)
    queries = query.squeeze(0).transpose(0, 1) @ keys  # (H, N, hidden + 1)
    mixed = attend(queries[None], states[:, None], states[:, None])  # (1, N, H, hidden + 1)
    answers = mixed.squeeze(0).transpose(0, 1) @ values.transpose(1, 2)  # (H, N, D)
    return answers.transpose(0, 1).flatten(1)[None]


def _weight_of_heads(attention: Attention, layer: nn.Linear) -> Tensor:
    """The weight of each head, its bias as one more column for a constant feature of 1: (H, D, hidden + 1)."""
    weight = layer.weight if layer.bias is None else torch.cat((layer.weight, layer.bias[:, None]), 1)
    weight = weight.unflatten(0, (-1, 1, attention.head_dim))  # (K, 1, D, hidden + 1)
    return weight.expand(-1, attention.num_key_value_groups, -1, -1).flatten(0, 1)
