# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The n-grams of a corpus that a model has embeddings for."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, vstack
from torch import nn

from ..configuration_scratch import NGRAM_BITS
from ..embeddings import NGrams

LEAST_COUNT = 5  # rarer ones are noise
SLICE = 10_000  # texts that are counted at a time
MOST_TOKENS = 50_000_000  # that are counted, from the first on: sorting them takes 2 GB


def frequent_ngrams(ids: np.ndarray, starts: np.ndarray, special: Sequence[int], most: int) -> np.ndarray:
    """Return the keys, rising, of the most frequent pairs and triples of tokens within documents, at most `most`.

    ids (tokens,); starts (tokens,): true where a document begins. special: the ids of tokens that no n-gram has.
    """
    ids, starts = ids[:MOST_TOKENS], starts[:MOST_TOKENS]
    breaks = np.cumsum(starts | np.isin(ids, special))
    breaks = np.where(np.isin(ids, special), -np.arange(1, len(ids) + 1), breaks)
    found = [keys for keys, _ in _keys(ids, breaks)]
    keys, counts = np.unique(np.concatenate(found), return_counts=True)
    keys, counts = keys[counts >= LEAST_COUNT], counts[counts >= LEAST_COUNT]
    return np.sort(keys[np.argsort(-counts, kind="stable")[:most]])


def _keys(ids: np.ndarray, documents: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the keys of the pairs, then those of the triples, and the index of the last token of each.

    documents (tokens,): a number that the tokens of one document share, and no others beside them.
    """
    keys = ids = ids.astype(np.int64) + 1
    for back in (1, 2):
        keys = keys[1:] + (ids[: len(ids) - back] << back * NGRAM_BITS)
        is_inside = documents[back:] == documents[:-back]
        yield keys[is_inside], np.flatnonzero(is_inside) + back


def count_features(texts: Sequence[Sequence[int]], vocab_size: int, keys: np.ndarray) -> csr_matrix:
    """Count the tokens of each text, and the n-grams that have these keys: (N, vocab_size + keys).

    texts: the N lists of token ids. keys: rising, as of `frequent_ngrams`.
    """
    slices = range(0, len(texts), SLICE)
    return vstack([_count(texts[start : start + SLICE], vocab_size, keys) for start in slices], format="csr")


def _count(texts: Sequence[Sequence[int]], vocab_size: int, keys: np.ndarray) -> csr_matrix:
    lengths = np.array(list(map(len, texts)))
    ids, rows = np.concatenate(texts).astype(np.int64), np.repeat(np.arange(len(texts)), lengths)
    where, columns = [rows], [ids]
    for found, last in _keys(ids, rows) if len(keys) else ():
        index = np.searchsorted(keys, found).clip(max=len(keys) - 1)
        is_known = keys[index] == found
        where.append(rows[last[is_known]])
        columns.append(vocab_size + index[is_known])
    indices = np.concatenate(where), np.concatenate(columns)
    ones = np.ones(len(indices[0]), np.float32)
    return csr_matrix((ones, indices), shape=(len(texts), vocab_size + len(keys)))  # adds up what repeats


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
