# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 3: heads, masks, positions.

Shapes: B texts, H heads, T queries, S keys, D features of a head. In mistakes, q, k, v are query, key and value, s is
what is visible.
"""

from typing import Any

import torch
from torch import Tensor

from .. import positions
from ..attention import additive
from ..configuration_scratch import ScratchConfig
from ..inputs import Inputs, eager_config, self_attention_mask
from .comparing import Check, random
from .exercises_2 import ROWS, attention, heads, products, scaled, weighted

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def cut(x: Tensor, heads: int, size: int = -1) -> Tensor:
    return x.unflatten(-1, (heads, size))


def causal(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


def hiding(scores: Tensor, hidden: Tensor) -> Tensor:
    return scores.masked_fill(hidden, -1e9)


def leak(answer: Any) -> str | None:
    """Whether a token changes what an earlier one computes."""
    query, key, value = heads(6, 6)
    before = answer(query, key, value, causal(6))
    key, value = heads(6, 6)[1:]
    key[:, :, 5] += 1
    value[:, :, 5] += 1
    moved = (answer(query, key, value, causal(6)) - before).abs().amax((0, 1, 3)) > 1e-6  # (T,)
    if not moved[:5].any():
        return None
    return f"the future leaks: position {int(moved.nonzero()[0])} changed when token 5 did."


def visible_pairs(attention_mask: Tensor) -> Tensor:
    """(B, S) -> (B, 1, T, S), by the book's function for decoders."""
    inputs = Inputs(torch.zeros_like(attention_mask), attention_mask=attention_mask)
    return additive(self_attention_mask(eager_config(ScratchConfig()), inputs, is_causal=True), torch.float32) == 0


def clocks(length: int, size: int, exponent: float = 2.0, first: int = 0) -> tuple[Tensor, Tensor]:
    """Sines and cosines (T, size / 2) of position / 10000^(exponent * i / size)."""
    frequencies = 10_000.0 ** (-exponent * torch.arange(size // 2) / size)
    angles = torch.arange(first, first + length)[:, None] * frequencies
    return angles.sin(), angles.cos()


def alternating(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack((first, second), dim=-1).flatten(-2)


def features(length: int, size: int, exponent: float) -> Tensor:
    """Sines at even and cosines at odd features (T, size), each at its own frequency."""
    sin, cos = clocks(length, 2 * size, 2 * exponent)  # (T, size)
    return torch.where(torch.arange(size) % 2 == 0, sin, cos)


def rotated(states: Tensor) -> Tensor:
    """(..., T, D), by the book's functions."""
    rope = {"rope_type": "default", "rope_theta": 10_000.0}
    cos, sin = positions.rotary(torch.arange(states.shape[-2]), states.shape[-1], rope, 2048, torch.float32)
    return positions.rotate(states[..., None, :], cos, sin).squeeze(-2)


def turned(states: Tensor, sign: int = 1, overwrites: bool = False, **clock: Any) -> Tensor:
    """`rotated` by other clocks, the other way round, or with a second half that is made of the new first half."""
    sin, cos = clocks(*states.shape[-2:], **clock)
    first, second = states.chunk(2, dim=-1)
    new = first * cos - sign * second * sin
    return torch.cat((new, second * cos + sign * (new if overwrites else first) * sin), dim=-1)


CHECKS = {
    "split_heads": Check(
        lambda x, n: cut(x, n).transpose(1, 2), lambda: [(random(2, 4, 12), 4), (random(2, 5, 12), 2)], {
        "the tokens are mixed: cut the features first, (B, T, H, D), then exchange T and H.":
            lambda x, n: x.reshape(len(x), n, x.shape[1], -1),
        "tokens and heads are not exchanged: (B, T, H, D) has to become (B, H, T, D).": cut,
        "a head takes every H-th feature; it takes D neighbours.": lambda x, n: cut(x, -1, n).permute(0, 3, 1, 2),
        "it is (B, H, D, T); it has to be (B, H, T, D).": lambda x, n: cut(x, n).permute(0, 2, 3, 1),
    }, "A head is one more axis of the batch, so the attention of lesson 2 computes all heads at once."),
    "causal": Check(causal, lambda: [(1,), (5,)], {
        "the wrong triangle: row i, a query, sees columns 0 to i.": lambda n: causal(n).T,
        "a token has to see itself: the diagonal is visible.": lambda n: causal(n).tril(-1),
        "the wrong way round: True is visible.": lambda n: ~causal(n),
        "one token of the future is visible.": lambda n: torch.ones(n, n, dtype=torch.bool).tril(1),
        "True and False are asked for: dtype=torch.bool.": lambda n: torch.ones(n, n).tril(),
    }, "This triangle is all that separates a decoder from an encoder."),
    "masked_attention": Check(attention, lambda: [(*heads(), causal(5).triu(-2))], {
        "nothing is hidden: masked_fill returns a new tensor, so keep what it returns.":
            lambda q, k, v, s: weighted(scaled(q, k), v),
        "the rows do not sum to 1: the mask comes before the softmax.":
            lambda q, k, v, s: (scaled(q, k).softmax(-1) * s) @ v,
        "the future leaks: a score of 0 is no weight of 0, as exp(0) is 1. Hidden scores are -inf.":
            lambda q, k, v, s: weighted(scaled(q, k) * s, v),
        "the wrong way round: what is visible is hidden.":
            lambda q, k, v, s: weighted(hiding(scaled(q, k), s), v),
        "0 times -inf is nan: use masked_fill.": lambda q, k, v, s: weighted(scaled(q, k) + ~s * -torch.inf, v),
        ROWS: lambda q, k, v, s: hiding(scaled(q, k), ~s).softmax(-2) @ v,
        "the division by sqrt(d_k) is missing.": lambda q, k, v, s: weighted(hiding(products(q, k), ~s), v),
        "the mask adds 0 or 1; hidden scores are -inf.": lambda q, k, v, s: weighted(scaled(q, k) + s, v),
    }, "Position i is computed from the tokens 0 to i alone.", otherwise=leak),
    "visible": Check(visible_pairs, lambda: [(MASK.clone(),)], {
        "a row of padding sees nothing, and its softmax is nan: hide padding as a key, the last axis, not as a query.":
            lambda m: m.bool()[:, None, :, None] & causal(m.shape[1]),
        "a key has to be both, real and not later: `&`, not `|`.":
            lambda m: m.bool()[:, None, None] | causal(m.shape[1]),
        "the future is visible: combine it with causal(T).":
            lambda m: m.bool()[:, None, None].expand(-1, 1, m.shape[1], -1),
        "padding is visible: combine it with attention_mask.":
            lambda m: causal(m.shape[1]).expand(len(m), 1, -1, -1),
        "the axis of the heads is missing: (B, 1, T, S).": lambda m: m.bool()[:, None] & causal(m.shape[1]),
    }, "What a padded text computes is what it computes alone, and it never sees what comes later."),
    "sinusoidal": Check(lambda n, d: positions.sinusoidal(torch.arange(n), d), lambda: [(7, 8), (3, 4)], {
        "sines first, then cosines; they alternate: sin, cos, sin, cos.": lambda n, d: torch.cat(clocks(n, d), -1),
        "the exponent is 2i / d; the 2 is missing.": lambda n, d: alternating(*clocks(n, d, exponent=1)),
        "the 2 is there twice: torch.arange(0, size, 2) is 2i already.":
            lambda n, d: alternating(*clocks(n, d, exponent=4)),
        "i counts pairs: a sine and the cosine beside it have the same exponent, 2i / d.":
            lambda n, d: features(n, d, exponent=1.0),
        "i counts pairs, not features: features 2i and 2i + 1 have the exponent 2i / d.":
            lambda n, d: features(n, d, exponent=2.0),
        "sine and cosine are exchanged: the sine stands first.": lambda n, d: alternating(*clocks(n, d)[::-1]),
        "the first position is 0, not 1.": lambda n, d: alternating(*clocks(n, d, first=1)),
    }, "It is sinusoidal of modeling_scratch/positions.py.", tolerance=1e-4),
    "rotate": Check(rotated, lambda: [(random(2, 6, 8),)], {
        "turned the wrong way round: the first half is first * cos - second * sin.": lambda x: turned(x, sign=-1),
        "the first half is overwritten before the second equation reads it: keep both halves.":
            lambda x: turned(x, overwrites=True),
        "the first position is 0, which is not turned.": lambda x: turned(x, first=1),
        "pairs of neighbours, as in the paper; the book, like Llama's code, pairs i with i + D / 2.":
            lambda x: alternating(*turned(torch.cat((x[..., ::2], x[..., 1::2]), -1)).chunk(2, -1)),
        "the exponent is -2i / D; the 2 is missing.": lambda x: turned(x, exponent=1),
        "all pairs turn by the same angle; it is p * 10000^(-2i / D) for pair i.": lambda x: turned(x, exponent=0),
    }, "Scores of turned queries and keys depend on their distance alone.", tolerance=1e-4),
}  # fmt: skip
