# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""BPE-dropout (Provilkov et al. 2020): a word is spelt in other tokens each time that training reads it."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any
from zlib import crc32

import numpy as np
from transformers import PreTrainedTokenizerBase

from ..utils.errors import DataError

SPELLINGS = 64  # of a word; a word that occurs more often repeats them
NO_WORD = -1  # the word of special tokens

Ids = tuple[int, ...]


class BpeDropout:
    """Byte-pair encoding that skips each merge with the given probability (Provilkov et al. 2020, algorithm 1).

    Raises `DataError` if the tokenizer has no merges.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, probability: float) -> None:
        backend: Any = getattr(tokenizer, "backend_tokenizer", None)
        model = json.loads(backend.to_str())["model"] if backend else {}
        if model.get("type") != "BPE" or model.get("continuing_subword_prefix"):
            raise DataError("--bpe_dropout: the tokenizer is not byte-pair encoding; use --tokenizer_kind byte_bpe")
        self.probability = probability
        self.ends_word: str = model.get("end_of_word_suffix") or ""
        self.rank = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
        self.id_of: dict[str, int] = tokenizer.get_vocab()
        self.token_of = {number: token for token, number in self.id_of.items()}
        self.spellings: dict[tuple[Ids, int], Ids] = {}

    def respell(self, ids: Sequence[int], words: Sequence[int], generator: np.random.Generator) -> list[int]:
        """Return the tokens of other spellings of the words. words: the word of each token, or NO_WORD."""
        grouped = [(word, tuple(ids)) for word, ids in _groups(words, ids)]
        numbers = generator.integers(SPELLINGS, size=len(grouped)).tolist()
        spelt = [ids if word == NO_WORD else self.spelling(ids, n) for (word, ids), n in zip(grouped, numbers)]
        return [token for tokens in spelt for token in tokens]

    def spelling(self, word: Ids, number: int) -> Ids:
        """Return spelling `number` of a word, which is always the same."""
        if (word, number) not in self.spellings:
            self.spellings[word, number] = self._spell(word, random.Random(f"{word} {number}"))
        return self.spellings[word, number]

    def _spell(self, word: Ids, generator: random.Random) -> Ids:
        symbols = list("".join(self.token_of[token] for token in word).removesuffix(self.ends_word))
        symbols[-1:] = [symbol + self.ends_word for symbol in symbols[-1:]]
        while merges := self._kept_merges(symbols, generator):
            _, index = min(merges)
            symbols[index : index + 2] = ["".join(symbols[index : index + 2])]
        known = all(symbol in self.id_of for symbol in symbols)  # the spelling of an unknown token is not
        return tuple(self.id_of[symbol] for symbol in symbols) if known else word

    def _kept_merges(self, symbols: Sequence[str], generator: random.Random) -> list[tuple[int, int]]:
        """Return (rank, index) of each pair of neighbours that may be merged now."""
        ranks = [(self.rank.get(pair), index) for index, pair in enumerate(pairwise(symbols))]
        return [(rank, index) for rank, index in ranks if rank is not None and generator.random() >= self.probability]


def _groups(words: Sequence[int], ids: Sequence[int]) -> list[tuple[int, list[int]]]:
    return [(word, [token for _, token in pairs]) for word, pairs in groupby(zip(words, ids), key=itemgetter(0))]


def word_numbers(encoding: Any, row: int) -> list[int]:
    """Return the word of each token of a text, NO_WORD for special tokens."""
    return [NO_WORD if word is None else word for word in encoding.word_ids(row)]


class RespelledPairs:
    """Collator of translation pairs whose words are spelt anew.

    rows: input_ids and labels, and as input_words and label_words the word of each token. The spellings derive from
    the seed and the rows of the batch, so a resumed run reads what an uninterrupted one does. A text whose spelling
    has more than `max_length` tokens keeps its own.
    """

    def __init__(
        self,
        collator: Callable[[list[dict[str, Any]]], Mapping[str, Any]],
        source: BpeDropout,
        target: BpeDropout,
        max_length: int,
        seed: int,
    ) -> None:
        self.collator, self.max_length, self.seed = collator, max_length, seed
        self.sides = ("input_ids", "input_words", source), ("labels", "label_words", target)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        content = np.concatenate([row[name] for row in rows for name, _, _ in self.sides])
        generator = np.random.default_rng([self.seed, crc32(content.astype(np.int64).tobytes())])
        return self.collator([self._respelled(row, generator) for row in rows])

    def _respelled(self, row: Mapping[str, Any], generator: np.random.Generator) -> dict[str, Any]:
        respelled = {}
        for name, words, dropout in self.sides:
            ids = dropout.respell(row[name], row[words], generator)
            respelled[name] = ids if len(ids) <= self.max_length else row[name]
        return respelled
