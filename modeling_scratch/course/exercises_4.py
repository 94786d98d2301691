# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 4: norms, residual connections, the feed-forward layer, the block and its parameters."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..configuration_scratch import ScratchConfig
from ..layers import FeedForward, PreNorm, RMSNorm
from ..stack import Block
from .comparing import Check, random

SIZES: dict[str, Any] = {
    "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 12, "hidden_dropout": 0.0,
    "attn_implementation": "eager",
}  # fmt: skip


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    norm = RMSNorm(len(weight), eps)
    norm.weight.data = weight
    return norm(x)


def pre_norm(x: Tensor, norm: Any, part: Any) -> Tensor:
    residual = PreNorm(ScratchConfig(**SIZES))
    residual.norm = norm
    return residual.after(x, part(residual.before(x)))


def gated_feed_forward(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    layer = FeedForward(ScratchConfig(**SIZES, hidden_act="swiglu", mlp_bias=False))
    for linear, weight in ((layer.gate_proj, w_gate), (layer.up_proj, w_up), (layer.down_proj, w_down)):
        linear.weight.data = weight.T
    return layer(x)


@torch.no_grad()
def new_block() -> Block:
    """A block whose parameters are all drawn anew, so that its two norms differ."""
    block = Block(ScratchConfig(**SIZES, norm_position="pre"), 0)
    for seed, parameter in enumerate(block.parameters()):
        parameter.copy_(random(*parameter.shape, seed=seed))
    return block


def ordered(order: Callable[..., Tensor]) -> Callable[[Tensor, Block], Tensor]:
    """A block with its parts in another order: a function of x, attention, feed-forward and the norm of each."""

    def run(x: Tensor, block: Block) -> Tensor:
        norms = block.attention_residual.norm, block.feed_forward_residual.norm
        return order(x, lambda x: block.attention(x)[0], block.feed_forward, *norms)

    return run


def counted(d_model: int, d_ff: int) -> int:
    sizes = {**SIZES, "hidden_size": d_model, "num_attention_heads": 1, "intermediate_size": d_ff}
    return sum(parameter.numel() for parameter in Block(ScratchConfig(**sizes), 0).parameters())


CHECKS = {
    "rms_norm": Check(rms_norm, lambda: [(random(2, 3, 4) + 1, random(4), eps) for eps in (0.1, 1e-6)], {
        "the mean is subtracted: this is the layer norm; RMSNorm only divides.":
            lambda x, w, eps: F.layer_norm(x, w.shape, w, eps=eps),
        "the mean is over the tokens: it has to be over the last axis, the features of one token.":
            lambda x, w, eps: x / (x.pow(2).mean(-2, keepdim=True) + eps).sqrt() * w,
        "this is the square of the mean: square first, then take the mean.":
            lambda x, w, eps: x / (x.mean(-1, keepdim=True).pow(2) + eps).sqrt() * w,
        "divided by the length of the vector: take the mean of the squares, not their sum.":
            lambda x, w, eps: x / (x.pow(2).sum(-1, keepdim=True) + eps).sqrt() * w,
        "the root is missing: this divides by the mean square.":
            lambda x, w, eps: x / (x.pow(2).mean(-1, keepdim=True) + eps) * w,
        "eps stands outside the root: add it to the mean square.":
            lambda x, w, eps: x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * w,
        "the weight is missing.": lambda x, w, eps: rms_norm(x, torch.ones_like(w), eps),
    }, "It is RMSNorm of layers.py: before the weight, each token has the mean square 1, whatever the others are."),
    "pre_norm": Check(pre_norm, lambda: [(random(2, 3, 8), nn.LayerNorm(8), torch.tanh)], {
        "this is post-norm: it normalises the stream, after the sum.": lambda x, norm, part: norm(x + part(x)),
        "x is gone: without `x +` there is no residual connection.": lambda x, norm, part: part(norm(x)),
        "norm(x) is added in place of x, so the stream is normalised.": lambda x, norm, part: norm(x) + part(norm(x)),
        "the update is normalised: normalise what the part reads.": lambda x, norm, part: x + norm(part(x)),
        "the part reads x: it has to read norm(x).": lambda x, norm, part: x + part(x),
    }, "It is PreNorm of layers.py: x goes through unchanged, and so does its gradient."),
    "gated_feed_forward": Check(
        gated_feed_forward, lambda: [(random(3, 8), random(8, 12, seed=1), random(8, 12, seed=2), random(12, 8))], {
        "the activation is on x W_up: it belongs to the gate, x W_gate.":
            lambda x, gate, up, down: (x @ gate * F.silu(x @ up)) @ down,
        "the activation is applied to the product: apply it to the gate alone.":
            lambda x, gate, up, down: F.silu(x @ gate * (x @ up)) @ down,
        "the gate is added: it has to multiply.": lambda x, gate, up, down: (F.silu(x @ gate) + x @ up) @ down,
        "this is a sigmoid: SiLU is x * sigmoid(x).": lambda x, gate, up, down: (x @ gate).sigmoid() * (x @ up) @ down,
        "there is no activation: apply F.silu to x W_gate.": lambda x, gate, up, down: (x @ gate * (x @ up)) @ down,
        "there is no gate: multiply by silu(x W_gate).": lambda x, gate, up, down: F.silu(x @ up) @ down,
    }, "It is FeedForward of layers.py with hidden_act='swiglu', as in Llama."),
    "pre_norm_block": Check(lambda x, block: block(x), lambda: [(random(2, 3, 8), new_block())], {
        "the feed-forward layer reads x from before attention: it has to read the sum.":
            ordered(lambda x, attend, feed, norm, other: x + attend(norm(x)) + feed(other(x))),
        "attention's update is lost: add the feed-forward layer's to the sum, not to the first x.":
            ordered(lambda x, attend, feed, norm, other: x + feed(other(x + attend(norm(x))))),
        "the second residual connection is missing: add the stream to the feed-forward layer's update.":
            ordered(lambda x, attend, feed, norm, other: feed(other(x + attend(norm(x))))),
        "the feed-forward layer reads the stream itself: it has a norm, too.":
            ordered(lambda x, attend, feed, norm, other: (y := x + attend(norm(x))) + feed(y)),
        "the feed-forward layer and its residual connection are missing.":
            ordered(lambda x, attend, feed, norm, other: x + attend(norm(x))),
        "x is replaced by norm(x): add each update to the stream itself.":
            ordered(lambda x, attend, feed, norm, other: (y := other((z := norm(x)) + attend(z))) + feed(y)),
        "both parts read through the same norm: each has its own.":
            ordered(lambda x, attend, feed, norm, other: (y := x + attend(norm(x))) + feed(norm(y))),
        "this is post-norm: here each norm stands before its part.":
            ordered(lambda x, attend, feed, norm, other: other((y := norm(x + attend(x))) + feed(y))),
    }, "It is Block.forward of stack.py; a Transformer is N of them."),
    "parameters_of_block": Check(counted, lambda: [(32, 128), (64, 100)], {
        "the biases of the linear layers are missing.": lambda d, f: counted(d, f) - 5 * d - f,
        "4 d_model are missing: the two norms (each a weight and a bias), or the biases of attention's four matrices.":
            lambda d, f: counted(d, f) - 4 * d,
        "the norms have a bias, too: 2 d_model numbers each.": lambda d, f: counted(d, f) - 2 * d,
        "the norms and all biases are missing.": lambda d, f: counted(d, f) - 9 * d - f,
        "attention has a fourth matrix: W_O projects the heads back.": lambda d, f: counted(d, f) - d * d - d,
        "the feed-forward layer has two matrices: up and down.": lambda d, f: counted(d, f) - d * f - d,
    }, "The Block of stack.py has the same number."),
}  # fmt: skip
