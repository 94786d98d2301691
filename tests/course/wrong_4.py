# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 4: exercise, answer, a part of the hint."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def one_stream_too_few(x: Tensor, block: Any) -> Tensor:
    update, _ = block.attention(block.attention_residual.norm(x))
    return x + block.feed_forward(block.feed_forward_residual.norm(x + update))


def one_norm(x: Tensor, block: Any) -> Tensor:
    norm = block.attention_residual.norm
    x = x + block.attention(norm(x))[0]
    return x + block.feed_forward(norm(x))


def without_second_residual(x: Tensor, block: Any) -> Tensor:
    x = x + block.attention(block.attention_residual.norm(x))[0]
    return block.feed_forward(block.feed_forward_residual.norm(x))


WRONG: list[tuple[str, Any, str]] = [
    ("rms_norm", lambda x, weight, eps: F.layer_norm(x, (x.shape[-1],), weight, eps=eps), "this is the layer norm"),
    ("rms_norm", lambda x, weight, eps: x * torch.rsqrt((x * x).mean(1, True) + eps) * weight, "is over the tokens"),
    (
        "rms_norm",
        lambda x, weight, eps: x / ((x**2).mean(-1, keepdim=True) ** 0.5 + eps) * weight,
        "eps stands outside",
    ),
    ("pre_norm", lambda x, norm, part: norm(part(x) + x), "this is post-norm"),
    ("pre_norm", lambda x, norm, part: part(norm(x)), "x is gone"),
    ("pre_norm", lambda x, norm, part: norm(x).add(part(norm(x))), "in place of x"),
    ("gated_feed_forward", lambda x, gate, up, down: (x @ gate) * F.silu(x @ up) @ down, "it belongs to the gate"),
    ("gated_feed_forward", lambda x, gate, up, down: (F.silu(x @ gate) + (x @ up)) @ down, "it has to multiply"),
    ("gated_feed_forward", lambda x, gate, up, down: torch.sigmoid(x @ gate) * (x @ up) @ down, "this is a sigmoid"),
    ("pre_norm_block", one_stream_too_few, "attention's update is lost"),
    ("pre_norm_block", one_norm, "each has its own"),
    ("pre_norm_block", without_second_residual, "second residual connection is missing"),
    ("parameters_of_block", lambda d_model, d_ff: 4 * d_model**2 + 2 * d_model * d_ff, "norms and all biases"),
    ("parameters_of_block", lambda d, f: 4 * (d * d + d) + d * f + f + f * d + d, "two norms are missing"),
    ("parameters_of_block", lambda d, f: 3 * (d * d + d) + d * f + f + f * d + d + 4 * d, "fourth matrix"),
    ("parameters_of_block", lambda d, f: 4 * d * d + 2 * d * f + 4 * d, "biases of the linear layers"),
]
