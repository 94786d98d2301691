# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The n-grams of a corpus that a model has embeddings for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from ..configuration_scratch import NGRAM_BITS
from ..embeddings import NGrams

LEAST_COUNT = 5  # rarer ones are noise
MOST_TOKENS = 50_000_000  # that are counted, from the first on: sorting them takes 2 GB


def frequent_ngrams(ids: np.ndarray, starts: np.ndarray, special: Sequence[int], most: int) -> np.ndarray:
    """Return the keys, rising, of the most frequent pairs and triples of tokens within documents, at most `most`.

    ids (tokens,); starts (tokens,): true where a document begins. special: the ids of tokens that no n-gram has.
    """
    ids, starts = ids[:MOST_TOKENS].astype(np.int64), starts[:MOST_TOKENS]
    breaks = np.cumsum(starts | np.isin(ids, special))
    breaks = np.where(np.isin(ids, special), -np.arange(1, len(ids) + 1), breaks)
    keys, found = ids + 1, []
    for back in (1, 2):
        keys = keys[1:] + ((ids[: len(ids) - back] + 1) << back * NGRAM_BITS)
        found.append(keys[breaks[back:] == breaks[:-back]])
    keys, counts = np.unique(np.concatenate(found), return_counts=True)
    keys, counts = keys[counts >= LEAST_COUNT], counts[counts >= LEAST_COUNT]
    return np.sort(keys[np.argsort(-counts, kind="stable")[:most]])


def has_empty_ngrams(model: Any) -> bool:
    """Return whether the model has a table of n-grams that does not know yet which ones."""
    ngrams = getattr(getattr(model.base_model, "embeddings", None), "ngrams", None)
    return isinstance(ngrams, NGrams) and not bool(ngrams.keys.any())


def fill_ngrams(model: Any, ids: np.ndarray, starts: np.ndarray, special: Sequence[int]) -> str:
    """Give the table the frequent n-grams of these tokens, and embeddings of zeros. Return a note on how many."""
    ngrams = model.base_model.embeddings.ngrams
    keys = frequent_ngrams(ids, starts, special, len(ngrams.keys))
    ngrams.keys[len(ngrams.keys) - len(keys) :] = torch.from_numpy(keys)
    nn.init.zeros_(ngrams.table.weight)
    return f"n-grams with embeddings: {len(keys):,}, of {LEAST_COUNT} occurrences or more in the train split"
