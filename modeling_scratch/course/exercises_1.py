# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 1: tokens and embeddings.

Shapes: B texts, T tokens, V tokens of the vocabulary. In mistakes, e is a table (V, d_model), p are positions.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import presets
from ..configuration_scratch import ScratchEncoderConfig
from ..embeddings import Embeddings
from ..positions import sinusoidal
from .comparing import Check, random

VOCABULARY = {"the": 0, "film": 1, "[UNK]": 2, "bores": 3}
CORPORA = [
    "low low low low low lot lot lot wow wow",
    "xay xay xby xby xcd xcd cd cd abcab abd",
    "ababab bc bc",
]


def ids_of(text: str, vocabulary: dict[str, int], unknown: Any = "[UNK]") -> list[int]:
    unknown = vocabulary.get(unknown, unknown)
    return [vocabulary.get(word, unknown) for word in text.lower().split()]


def commonest(parts: Callable[[Any], Iterable[Any]], by_count: bool = True) -> Callable[..., Any]:
    """The commonest of the `parts` of words. by_count: those of a word count as often as the word."""
    return lambda words: most_common(parts, words, by_count)[0]


def most_common(parts: Callable[[Any], Iterable[Any]], words: dict[tuple[str, ...], int], by_count: bool = True) -> Any:
    """The commonest part and its count."""
    found = Counter(part for word, n in words.items() for part in (n if by_count else 1) * list(parts(word)))
    return found.most_common(1)[0]


def padded(texts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(text) for text in texts])
    ids = torch.tensor([text + [pad_id] * (int(lengths.max()) - len(text)) for text in texts])
    return ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()


def with_mask(mask_of: Callable[[Tensor, Tensor, int], Tensor]) -> Callable[..., Any]:
    """`padded` with the mask that is made of ids, the right mask and pad_id."""
    return lambda texts, pad_id: ((both := padded(texts, pad_id))[0], mask_of(*both, pad_id).long())


def embeddings(ids: Tensor, table: Tensor, positions: Tensor) -> Tensor:
    """By the module of the book, which makes the same sinusoidal positions itself."""
    config = presets.vaswani(ScratchEncoderConfig, hidden_size=table.shape[1], num_attention_heads=1)
    module = Embeddings(config, len(table)).eval()
    module.tokens.weight = torch.nn.Parameter(table)
    return module(ids, torch.arange(ids.shape[1])[None]).detach()


CHECKS = {
    "ids_of": Check(ids_of, lambda: [(text, VOCABULARY) for text in ("The film bores", "the FILM  fizzles")], {
        "lowercase the text first: `The` is in the vocabulary as `the`.":
            lambda text, v: [v.get(word, v["[UNK]"]) for word in text.split()],
        "unknown words are dropped: each becomes the unknown token.":
            lambda text, v: [v[word] for word in text.lower().split() if word in v],
        "unknown words get None: `get` takes a second argument.": lambda text, v: ids_of(text, v, None),
        "unknown words get 0, another word's id: theirs is vocabulary['[UNK]'].": lambda text, v: ids_of(text, v, 0),
    }, "To a model, a word is the number of a row. All unknown words are the same number."),
    "commonest_pair": Check(
        commonest(pairwise), lambda: [(Counter(map(tuple, corpus.split())),) for corpus in CORPORA], {
        "a word has a count: the pairs of a word that occurs 5 times count 5.": commonest(pairwise, False),
        "a later word overwrites the count of an earlier one: add to it, by `+=`.": lambda words:
            max(counts := {pair: n for word, n in words.items() for pair in pairwise(word)}, key=counts.__getitem__),
        "a pair that occurs twice in a word counts twice.": commonest(lambda word: set(pairwise(word))),
        "these are single symbols; count pairs of neighbours.": commonest(lambda word: word),
        "a pair is a tuple of two symbols: do not join them.": commonest(lambda word: map("".join, pairwise(word))),
        "this is a pair with its count: return the pair alone.": lambda words: most_common(pairwise, words),
        "most_common(1) is a list of pairs with their counts: take [0][0].": lambda w: [most_common(pairwise, w)],
    }, "Byte-pair encoding repeats this step until the vocabulary is full."),
    "padded": Check(padded, lambda: [([[5, 6, 7], [8], [9, 4]], 0), ([[0, 2], [3, 1, 0]], 1)], {
        "the padding stands on the left: append it.":
            lambda texts, pad: tuple(each.flip(1) for each in padded([text[::-1] for text in texts], pad)),
        "the mask is the wrong way round: 1 is a real token, 0 is padding.": with_mask(lambda ids, m, pad: 1 - m),
        "the mask asks whether an id is 0; padding has the id pad_id.": with_mask(lambda ids, m, pad: ids != 0),
        "a real token may have the id pad_id: make the mask from lengths.": with_mask(lambda ids, m, pad: ids != pad),
        "the mask is 1 everywhere.": with_mask(lambda ids, m, pad: m * 0 + 1),
    }, "A batch is one table of ids, and the mask says which of them are tokens."),
    "embedded": Check(lambda ids, e: e[ids],
        lambda: [(torch.tensor([[3, 1, 3], [0, 2, 2]]), random(5, size)) for size in (5, 6)], {
        "the rows of the table are the tokens: do not transpose it.": lambda ids, e: e.T[ids],
        "these are the one-hot vectors; multiply them by the table.": lambda ids, e: F.one_hot(ids, len(e)).float(),
        "this is the sum over the tokens: each token keeps its own vector.": lambda ids, e: e[ids].sum(1),
        "ids are not features: make them one-hot first.": lambda ids, e: ids[..., None] * e[0],
    }, "Looking up a row is a product with a one-hot vector, so the table has a gradient like any matrix."),
    # An id is also the number of a position, so that positions[ids] raises no error.
    "embeddings": Check(embeddings,
        lambda: [(torch.tensor([[3, 1, 3, 0], [2, 2, 1, 3]]), random(7, 16), sinusoidal(torch.arange(4), 16))], {
        "the factor sqrt(d_model) is missing.": lambda ids, e, p: e[ids] + p,
        "scaled by d_model, not by its square root.": lambda ids, e, p: e[ids] * e.shape[1] + p,
        "the factor belongs to the tokens alone, not to the sum.": lambda ids, e, p: 4 * (e[ids] + p),
        "scaled by sqrt(V), not sqrt(d_model).": lambda ids, e, p: e[ids] * math.sqrt(len(e)) + p,
        "the first token has position 0, whatever its id is.": lambda ids, e, p: 4 * e[ids] + p[ids],
        "the positions are missing.": lambda ids, e, p: 4 * e[ids],
    }, "It is what modeling_scratch/embeddings.py computes."),
}  # fmt: skip
