# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Words taken out of a text: what the answer, or each token of an output, loses without them.

Occlusion is the score without each word: occlusion(word) = score - score without the word. The deletion test (Petsiuk
et al. 2018) tells whether to believe an attribution: words are taken out in its order, and the area under the curve of
the probability is small where the words that were called important are. Random orders show what any order would give.

The score of an output's token is s = log(p / (1 - p)) after the tokens before it; one pass gives those of all tokens.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from ..data.text_pairs import of_parts, parts_of
from ..inference.answers import log_odds
from .answers import Target, score, shown
from .subjects import GENERATION, MASKED, NEXT, TAGGING, Encoded, Subject, masked_positions, starts

ORDERS = 10  # random ones
MOST_STEPS = 64  # of a curve
MOST_LOGITS = 2**24  # of a batch
Kept = tuple[int, ...]  # the words of a variant of the text
Words = Sequence[float | None]  # a value each; None where nothing is left to read, or the explained word is gone


@dataclass(frozen=True)
class Scores:
    """How variants of a text are scored. encode: None where there is no score; read: (B, ..., C) -> (B, scores)."""

    subject: Subject
    encode: Callable[[Kept], Encoded | None]
    read: Callable[[Tensor, list[Kept]], Tensor]
    added: int = 0  # tokens after the text

    @torch.no_grad()
    def of(self, variants: Sequence[Kept]) -> dict[Kept, list[float] | None]:
        """Return the scores of each variant, in batches with a bounded number of logits."""
        encoded = {each: self.encode(each) for each in variants}
        usable = [each for each in variants if encoded[each] is not None]
        found: dict[Kept, list[float] | None] = dict.fromkeys(variants)
        size = rows_a_batch(self.subject, self.added)
        for start in range(0, len(usable), size):
            chosen = usable[start : start + size]
            logits = self.subject.model(**self.subject.batch([encoded[each] for each in chosen])).logits.float()
            found |= zip(chosen, self.read(logits, chosen).tolist())
        return found


def scores_of_answer(subject: Subject, target: Target) -> Scores:
    """One score: that of the answer."""
    positions: dict[Kept, int | None] = {}

    def encode(kept: Kept) -> Encoded | None:
        encoded = subject.encode(only(subject, kept))
        positions[kept] = _position(subject, target, encoded, kept)
        is_gone = subject.task in (TAGGING, MASKED) and positions[kept] is None
        return encoded if encoded.ids and not is_gone else None

    def read(logits: Tensor, variants: list[Kept]) -> Tensor:
        return score(subject, logits, target, [positions[each] for each in variants])[:, None]

    return Scores(subject, encode, read)


def scores_of_outputs(subject: Subject, outputs: Sequence[int]) -> Scores:
    """The log-odds of each token of an output."""
    labels, count = subject.tensor(list(outputs)), len(outputs)

    def encode(kept: Kept) -> Encoded | None:
        encoded = subject.encode(only(subject, kept))
        if not encoded.ids:
            return None
        return replace(encoded, ids=[*encoded.ids, *outputs[:-1]]) if subject.task == NEXT else encoded

    def read(logits: Tensor, _: list[Kept]) -> Tensor:
        logits = logits[:, -count:] if subject.task == NEXT else logits[:, :count]
        return log_odds(logits, labels.expand(len(logits), -1))  # (B, outputs)

    return Scores(subject, encode, read, count)


def rows_a_batch(subject: Subject, added: int = 0) -> int:
    """Return how many rows have at most `MOST_LOGITS` logits, and at most 64. added: tokens after the text."""
    length = max(len(subject.text.ids) + added, len(subject.target_ids))
    vocabulary = max(subject.model.config.vocab_size, getattr(subject.model.config, "decoder_vocab_size", 0) or 0)
    return max(1, min(64, MOST_LOGITS // (length * vocabulary)))


def only(subject: Subject, kept: Sequence[int]) -> str:
    """Return the text or pair with these of its words, and the spaces behind them."""
    text, words = subject.text.text, subject.text.words
    if len(kept) == len(words):
        return text
    parts = []
    for part, (start, whole) in enumerate(zip(starts(text), parts_of(text))):
        own = [number for number, word in enumerate(words) if word.part == part]
        ends = dict(zip(own, [*(words[number].start for number in own[1:]), start + len(whole)]))
        parts.append("".join(text[words[number].start : ends[number]] for number in kept if number in ends).strip())
    return of_parts(parts)


def _position(subject: Subject, target: Target, encoded: Encoded, kept: Kept) -> int | None:
    """Where the explained token stands in a variant; None: its word is gone."""
    word = explained_word(subject, target)
    if word is not None and word not in kept:
        return None
    if subject.task == MASKED:
        return next(iter(masked_positions(subject, encoded.ids)), None)
    if word is None or target.position is None or subject.text.word_of_token is None:
        return target.position
    rank, offset = kept.index(word), target.position - subject.text.word_of_token.index(word)
    found = [number for number, each in enumerate(encoded.word_of_token or ()) if each == rank]
    return found[min(offset, len(found) - 1)] if found else None  # a word can have fewer tokens at the start of a text


def explained_word(subject: Subject, target: Target) -> int | None:
    """Return the word that a tagger's label or a masked token is explained of; None if all of the text is."""
    words = subject.text.word_of_token
    if subject.task not in (TAGGING, MASKED) or words is None or target.position is None:
        return None
    return words[target.position]


def occlusion(scores: Scores) -> tuple[list[float], list[list[float | None]]]:
    """Return the scores of the text, and of each score, that less the score without each word."""
    every = tuple(range(len(scores.subject.text.words)))
    without = [tuple(word for word in every if word != gone) for gone in every]
    found = scores.of([every, *without])
    whole = found[every] or []
    changes = [
        [None if (scored := found[each]) is None else value - scored[number] for each in without]
        for number, value in enumerate(whole)
    ]
    return whole, changes


def deletion(scores: Scores, target: Target, attributions: Mapping[str, Words]) -> dict[str, Any]:
    """Return the curve of each method and of random orders, and the areas under them, from 0 to 1.

    attributions: values of words by method. The explained word, of a tagger or a masked LM, stays; the last point is
    left out if nothing is left to read.
    """
    every = range(len(scores.subject.text.words))
    fixed = explained_word(scores.subject, target)
    words, generator = [word for word in every if word != fixed], random.Random(0)
    steps = counts(len(words))

    def variants(order: Sequence[int]) -> list[Kept]:
        return [tuple(sorted(set(every).difference(order[:gone]))) for gone in steps]

    orders = {
        name: variants(sorted(words, key=lambda word: -_or_lowest(values[word])))
        for name, values in attributions.items()
    }
    drawn = [variants(generator.sample(words, len(words))) for _ in range(ORDERS)]
    found = scores.of(sorted({each for row in (*orders.values(), *drawn) for each in row}))

    def curve(row: Sequence[Kept]) -> list[float]:
        return [target.probability(values[0]) for each in row if (values := found[each]) is not None]

    return _summary({name: curve(row) for name, row in orders.items()}, [curve(row) for row in drawn])


def _or_lowest(value: float | None) -> float:
    return -math.inf if value is None else value


def counts(words: int) -> list[int]:
    """Return how many words are gone at each point of a curve, from none to all: evenly spaced in a long text."""
    steps = min(words, MOST_STEPS)
    return [round(step * words / max(steps, 1)) for step in range(steps + 1)]


def _summary(curves: Mapping[str, Sequence[float]], drawn: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The curves of methods, the mean and range of random ones, and the areas under all."""
    areas, columns = [area(curve) for curve in drawn], list(zip(*drawn))
    return {
        "curves": dict(curves),
        "areas": {**{name: area(curve) for name, curve in curves.items()}, "random": mean(areas)},
        "random": [mean(column) for column in columns],
        "random_low": [min(column) for column in columns],
        "random_high": [max(column) for column in columns],
        "orders": len(drawn),
    }


def area(curve: Sequence[float]) -> float:
    """The trapezoidal area under a curve over shares from 0 to 1."""
    if len(curve) == 1:
        return curve[0]
    return mean((left + right) / 2 for left, right in pairwise(curve))


def output_attributions(subject: Subject, continuation: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what each word of the text adds to each token of a target, or of a decoder's continuation.

    values: the scores (outputs,); words: (outputs, words). None for models that write nothing.
    """
    outputs = subject.target_ids if subject.task == GENERATION else [each["id"] for each in continuation]
    if subject.task not in (NEXT, GENERATION) or not outputs or not subject.text.words:
        return None
    values, changes = occlusion(scores_of_outputs(subject, outputs))
    tokens = [shown(subject.written_tokenizer, token) for token in outputs]
    return {"tokens": tokens, "values": values, "words": changes}
