# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which words mattered for each token of an output, on the teacher-forced pass, with the deletion test.

occlusion(word, token) = s(token) - s(token without the word), s = log(p / (1 - p)) of the token after those before it.

One pass gives the scores of all tokens of the output.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .answers import LOG_ODDS, Target, rows_a_batch, shown
from .deletion import ORDERS, counts, only, summary
from .subjects import GENERATION, NEXT, Subject

MOST_STEPS = 10  # of a curve
ODDS = Target(LOG_ODDS)
Kept = tuple[int, ...]  # words of a variant


def output_attributions(subject: Subject, continuation: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what each word of the text adds to each token of a target, or of a decoder's continuation.

    values: the scores (outputs,); words: (outputs, words), None where nothing is left to read; deletion: a test of
    each output. None for models that write nothing.
    """
    outputs = subject.target_ids if subject.task == GENERATION else [each["id"] for each in continuation]
    every = tuple(range(len(subject.text.words)))
    if subject.task not in (NEXT, GENERATION) or not outputs or not every:
        return None
    without = [tuple(word for word in every if word != gone) for gone in every]
    scores = _scores(subject, outputs, [every, *without])
    changes = [[_difference(scores[every][n], scores[each][n]) for each in without] for n in range(len(outputs))]
    tokenizer = subject.target_tokenizer if subject.task == GENERATION else subject.tokenizer
    return {
        "tokens": [shown(tokenizer, token) for token in outputs],
        "unit": LOG_ODDS,
        "values": scores[every],
        "words": changes,
        "deletion": _deletion(subject, outputs, changes),
    }


def _difference(whole: float | None, without: float | None) -> float | None:
    return None if whole is None or without is None else whole - without


def _deletion(
    subject: Subject, outputs: Sequence[int], changes: Sequence[Sequence[float | None]]
) -> list[dict[str, Any]]:
    """The deletion test of each output's own order of words, against the same random orders."""
    words, generator = range(len(subject.text.words)), random.Random(0)
    steps = counts(len(words), MOST_STEPS)
    orders = [sorted(words, key=lambda word: -(row[word] if row[word] is not None else -math.inf)) for row in changes]
    drawn = [generator.sample(words, len(words)) for _ in range(ORDERS)]
    kept = [[tuple(sorted(set(words).difference(order[:gone]))) for gone in steps] for order in (*orders, *drawn)]
    scores = _scores(subject, outputs, sorted({each for row in kept for each in row}))
    shares = [gone / len(words) for gone in steps]

    def curve(row: Sequence[Kept], number: int) -> list[float]:
        values = [scores[each][number] for each in row]
        return [ODDS.probability(value) for value in values if value is not None]

    return [
        summary(shares, {"occlusion": curve(kept[n], n)}, [curve(row, n) for row in kept[len(outputs) :]])
        for n in range(len(outputs))
    ]


@torch.no_grad()
def _scores(subject: Subject, outputs: Sequence[int], variants: Sequence[Kept]) -> dict[Kept, list[float | None]]:
    """The log-odds of each output for each variant; None where nothing is left to read."""
    found: dict[Kept, list[float | None]] = {each: [None] * len(outputs) for each in variants}
    encoded = [subject.encode(only(subject, each)) for each in variants]
    if subject.task == NEXT:
        encoded = [replace(each, ids=[*each.ids, *outputs[:-1]] if each.ids else []) for each in encoded]
    usable = [number for number, each in enumerate(encoded) if each.ids]
    labels, size = subject.tensor(list(outputs)), rows_a_batch(subject, len(outputs))
    for start in range(0, len(usable), size):
        chosen = usable[start : start + size]
        logits = subject.model(**subject.batch([encoded[number] for number in chosen])).logits.float()
        logits = logits[:, -len(outputs) :] if subject.task == NEXT else logits[:, : len(outputs)]
        for number, values in zip(chosen, _log_odds(logits, labels).tolist()):
            found[variants[number]] = values
    return found


def _log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """(B, outputs, V), (outputs,) -> (B, outputs)."""
    index = labels.expand(len(logits), -1)[..., None]
    others = logits.scatter(-1, index, -math.inf).logsumexp(-1)
    return logits.gather(-1, index)[..., 0] - others
