# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Documents as tokens: end to end, framed by special tokens, with marks where documents and words start."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from text_files import DataError
from transformers import PreTrainedTokenizerBase

LONG_TEXT = 100_000  # characters that are tokenised at once; longer documents are cut at the end of a line
TEXTS_AT_ONCE = 1_000

Frame = tuple[list[int], list[int]]  # the special tokens before and after a document


class Tokens(NamedTuple):
    """Documents end to end: three arrays (tokens,), the last two True where a document and where a word starts."""

    ids: np.ndarray
    documents: np.ndarray
    words: np.ndarray


@dataclass(frozen=True)
class DocumentTokenizer:
    """Text to tokens, between the tokens that frame a document. Special tokens written out in a text are text.

    whole_words: mark where words start, as the tokenizer splits texts into words; else each token is a word.
    """

    tokenizer: PreTrainedTokenizerBase
    frame: Frame
    whole_words: bool = False

    def __call__(self, documents: Iterable[str]) -> Iterator[Tokens]:
        """Document by document; a long one in parts, of which the first starts it. Raises `DataError` for no token."""
        pieces = chain.from_iterable(map(_pieces, documents))
        found = False
        while batch := list(islice(pieces, TEXTS_AT_ONCE)):
            encoded = self.tokenizer(
                [text for text, _, _ in batch],
                add_special_tokens=False, split_special_tokens=True, return_attention_mask=False, verbose=False,
            )  # fmt: skip
            found = found or any(encoded["input_ids"])
            if self.whole_words and not encoded.encodings:
                raise DataError("--whole_word needs a fast tokenizer, which knows the words of a text")
            for number, (_, is_first, is_last) in enumerate(batch):
                words = encoded.word_ids(number) if self.whole_words else None
                yield self._framed(encoded["input_ids"][number], words, is_first, is_last)
        if not found:
            raise DataError("the tokenizer finds no token in the documents; is it one for this language?")

    def _framed(self, ids: list[int], words: list[int | None] | None, is_first: bool, is_last: bool) -> Tokens:
        before, after = (self.frame[0] if is_first else []), (self.frame[1] if is_last else [])
        framed = np.array([*before, *ids, *after], dtype=np.int32)
        documents, starts = np.zeros(len(framed), dtype=bool), np.ones(len(framed), dtype=bool)
        documents[:1] = is_first
        if words:
            numbers = np.array([-1 if word is None else word for word in words])
            starts[len(before) + 1 : len(before) + len(ids)] = np.diff(numbers) != 0
        return Tokens(framed, documents, starts)


def _pieces(text: str) -> Iterator[tuple[str, bool, bool]]:
    """(part of the text, whether it is the first, whether it is the last)."""
    start = end = 0
    while start == 0 or end < len(text):
        end = text.find("\n", start + LONG_TEXT) + 1 or len(text)
        yield text[start:end], start == 0, end == len(text)
        start = max(end, 1)


def template_frame(tokenizer: PreTrainedTokenizerBase) -> Frame:
    """The special tokens that the tokenizer puts before and after a single text."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, is_special = encoded["input_ids"], encoded["special_tokens_mask"]
    first, last = is_special.index(0), len(ids) - is_special[::-1].index(0)
    return ids[:first], ids[last:]


def join(parts: Sequence[Tokens]) -> Tokens:
    return Tokens(*map(np.concatenate, zip(*parts)))
