# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 1: exercise, answer, a part of the hint."""

from collections import Counter
from itertools import pairwise
from typing import Any

import torch
from torch.nn import functional as F


def counts_words_once(words: Any) -> Any:
    counts: Counter[Any] = Counter()
    for word in words:
        for left, right in pairwise(word):
            counts[left, right] += 1
    return max(counts, key=counts.__getitem__)


def joins_the_pair(words: Any) -> Any:
    counts: Counter[Any] = Counter()
    for word, count in words.items():
        for left, right in pairwise(word):
            counts[left + right] += count
    return max(counts, key=counts.__getitem__)


def counts_letters(words: Any) -> Any:
    counts: Counter[Any] = Counter()
    for word, count in words.items():
        for letter in word:
            counts[letter] += count
    return counts.most_common(1)[0][0]


def pads_left(texts: Any, pad_id: int) -> Any:
    length = max(map(len, texts))
    ids = [[pad_id] * (length - len(text)) + text for text in texts]
    mask = [[0] * (length - len(text)) + [1] * len(text) for text in texts]
    return torch.tensor(ids), torch.tensor(mask)


def masks_by_id(texts: Any, pad_id: int) -> Any:
    length = max(map(len, texts))
    ids = torch.tensor([text + [pad_id] * (length - len(text)) for text in texts])
    return ids, (ids != pad_id).long()


def masks_padding(texts: Any, pad_id: int) -> Any:
    length = max(map(len, texts))
    ids = torch.tensor([text + [pad_id] * (length - len(text)) for text in texts])
    return ids, torch.tensor([[0] * len(text) + [1] * (length - len(text)) for text in texts])


def unfinished(ids: Any, table: Any) -> Any:
    one_hot = ...
    return one_hot.float() @ table  # type: ignore[attr-defined]


WRONG: list[tuple[str, Any, str]] = [
    ("ids_of", lambda text, v: [v[word] for word in text.lower().split()], "raises KeyError: 'fizzles'"),
    ("ids_of", lambda text, v: [v.get(word, v["[UNK]"]) for word in text.split()], "lowercase"),
    ("ids_of", lambda text, v: [v[word] for word in text.lower().split() if word in v], "left out"),
    ("ids_of", lambda text, v: [v.get(word, v["[UNK]"]) for word in text.lower().split(" ")], "'the FILM  fizzles'"),
    ("commonest_pair", counts_words_once, "count 5"),
    ("commonest_pair", joins_the_pair, "do not join"),
    ("commonest_pair", counts_letters, "single symbols"),
    ("padded", pads_left, "on the left"),
    ("padded", masks_by_id, "from lengths"),
    ("padded", masks_padding, "wrong way round"),
    ("padded", lambda texts, pad_id: torch.tensor(texts), "raises ValueError"),
    ("embedded", lambda ids, table: ids.float() @ table, "raises RuntimeError"),
    ("embedded", lambda ids, table: F.one_hot(ids, len(table)).float(), "multiply them"),
    ("embedded", lambda ids, table: F.one_hot(ids, len(table)).float() @ table.T, "transpose"),
    ("embedded", unfinished, "replace it by your code"),
    ("embeddings", lambda ids, table, positions: table[ids] + positions, "sqrt(d_model) is missing"),
    ("embeddings", lambda ids, table, positions: 16 * table[ids] + positions, "by d_model, not"),
    ("embeddings", lambda ids, table, positions: 4 * table[ids] + positions[ids], "whatever its id is"),
    ("embeddings", lambda ids, table, positions: 4.0 * (table[ids] + positions), "not to the sum"),
    ("cosine", lambda vector, table: table @ vector, "dot product"),
    ("cosine", lambda vector, table: table @ vector / (table.norm() * vector.norm()), "table.norm() is one number"),
    ("cosine", lambda vector, table: (table @ vector) / vector.norm(), "each row"),
    ("cosine", lambda vector, table: vector @ table.T / (table.norm(dim=0) * vector.norm()), "a column"),
]
