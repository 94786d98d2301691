# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 6: the switches, names and layout of a checkpoint, parity, and a comparison."""

import re
from typing import Any

import torch
from scipy.stats import binomtest
from torch import Tensor

from .. import presets
from ..bridges.encoders import BERT
from ..bridges.weights import Names
from .comparing import Check, random

WHY_IN_BERT = {
    "norm_position": "BERT keeps the norm where it stood in 2017, after the sum",
    "position_type": "BERT learns a table with a row for each position",
    "hidden_act": "BERT replaced ReLU by the smoother GELU, without a gate",
    "embedding_norm": "BERT normalises the sum of its embeddings",
    "type_vocab_size": "BERT tells a first sentence from a second one",
}


OF_BERT = {name: getattr(presets.bert(), name) for name in WHY_IN_BERT}


def not_of_bert(answer: dict[str, Any]) -> str | None:
    """The hint for the first switch that is not BERT's."""
    for name, why in WHY_IN_BERT.items():
        if answer.get(name) != OF_BERT[name]:
            return f"{name}={answer[name]!r}: {why}." if name in answer else f"{name} is missing."
    return None


ROWS = [(row.theirs, *row.ours) for row in BERT.rows]
NAMES = [
    "embeddings.LayerNorm.weight",
    "encoder.layer.1.attention.output.dense.bias",
    "encoder.layer.3.output.dense.weight",
    "encoder.layer.11.attention.self.query.weight",
]


def our_name(name: str, rows: list[tuple[str, str]]) -> str:
    _, names = Names(BERT, "ScratchEncoderModel").find(name)
    return names[0]


def padded_states() -> list[tuple[Tensor, Tensor, Tensor]]:
    """The number that differs most is smaller in ours. Padding differs little, or more than any token."""
    ours, mask = random(2, 3, 4), torch.tensor([[1, 1, 0], [1, 1, 1]])
    theirs = ours + 1e-3 * random(2, 3, 4, seed=1)
    theirs[1, 1, 2] += 0.5
    return [(ours, theirs, mask), (ours, theirs + 5 * (1 - mask[..., None]), mask)]


def discordant(first: list[bool], second: list[bool]) -> tuple[int, int]:
    """How many texts only the first gets right, and how many only one of them."""
    pairs = list(zip(first, second))
    return pairs.count((True, False)), pairs.count((True, False)) + pairs.count((False, True))


def answers() -> list[tuple[list[bool], list[bool]]]:
    """For 40 texts: 20 that both get right, 9 only the first, 3 only the second, 8 none; and the reverse."""
    first, second = [True] * 29 + [False] * 11, [True] * 20 + [False] * 9 + [True] * 3 + [False] * 8
    return [(first, second), (second, first)]


CHECKS = {
    "bert_switches": Check(
        OF_BERT, None, {}, "They are those of presets.bert; what else it says are sizes.", otherwise=not_of_bert),
    "our_name": Check(our_name, lambda: [(name, ROWS) for name in NAMES], {
        "`{}` is left over: format it with the number of the layer.":
            lambda name, rows: re.sub(r"layers\.\d+", "layers.{}", our_name(name, rows)),
        "names without a number, such as those of the embeddings, are lost: their rows have no `{}`.":
            lambda name, rows: our_name(name, rows) if "layer." in name else None,
        "the layer is 0 everywhere: take its number from the native name.":
            lambda name, rows: re.sub(r"layers\.\d+", "layers.0", our_name(name, rows)),
        "the ending, weight or bias, is lost: append it to the new name.":
            lambda name, rows: our_name(name, rows).rpartition(".")[0],
        "biases are named weights: keep the last part of the native name.":
            lambda name, rows: our_name(name, rows).replace(".bias", ".weight"),
        r"layers of two digits are lost: \d+ finds all digits.":
            lambda name, rows: None if "11" in name else our_name(name, rows),
    }, "The bridges convert each family like this: by tables, without code for any of them."),
    "split_c_attn": Check(lambda weight: weight.T.chunk(3), lambda: [(random(4, 12),)], {
        "not transposed: nn.Linear has the outputs first, so this computes x W^T in place of x W.":
            lambda weight: weight.chunk(3, dim=1),
        "these rows are interleaved: all columns of the query come first, then those of the key.":
            lambda weight: [weight.T[start::3] for start in range(3)],
        "the order is query, key, value.": lambda weight: weight.T.chunk(3)[::-1],
        "reshaped, not transposed: reshape keeps the order of the numbers.": lambda weight: weight.view(12, 4).chunk(3),
    }, "It is the row h.{}.attn.c_attn of bridges/decoders.py: transposed, one name for three."),
    "parity": Check(lambda ours, theirs, mask: (ours - theirs).abs()[mask.bool()].max(), padded_states, {
        "padding counts: leave it out by the mask, as mask.bool(); integers would pick rows by their number.":
            lambda ours, theirs, mask: (ours - theirs).abs().max(),
        "a negative difference is lost: take abs() before max().":
            lambda ours, theirs, mask: (ours - theirs)[mask.bool()].max(),
        "it is the mean, which hides one wrong token among many right ones: take the largest.":
            lambda ours, theirs, mask: (ours - theirs).abs()[mask.bool()].mean(),
        "the mask is the wrong way round: this compares the padding.":
            lambda ours, theirs, mask: (ours - theirs).abs()[~mask.bool()].max(),
    }, "The tests of the bridges do it for each family, with all parameters drawn anew."),
    "p_value": Check(lambda first, second: binomtest(*discordant(first, second)).pvalue, answers, {
        "texts that both get right or wrong count: leave them out of the number of tosses.":
            lambda first, second: binomtest(discordant(first, second)[0], len(first)).pvalue,
        "this compares the sums, as if the texts of both were different ones.":
            lambda first, second: binomtest(sum(first), sum(first) + sum(second)).pvalue,
        "it is one-sided: the second model could be the better one.":
            lambda first, second: binomtest(*discordant(first, second), alternative="greater").pvalue,
        "this is the share that the first gets right, not the probability of such a share by chance.":
            lambda first, second: discordant(first, second)[0] / discordant(first, second)[1],
    }, "It is McNemar's exact test. Reports draw the texts anew instead, which fits every score."),
}  # fmt: skip
