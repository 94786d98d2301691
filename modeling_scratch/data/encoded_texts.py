# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tokenise many texts, or pairs of texts, into a data set."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from transformers import PreTrainedTokenizerBase

from .text_pairs import text_lists

if TYPE_CHECKING:  # who trains no model needs no such library, which takes a second to import
    from datasets import Dataset

SLICE = 1_000  # texts
# Texts are sorted by length within a chunk. Its size is a compromise between padding and memory.
CHUNK_TEXTS = 8_192
CHUNK_CHARACTERS = 2_000_000
WORDS_OF_TOKENS = 2  # of a text that is cut: a word is a token or more, but for invisible characters

AnyRow = TypeVar("AnyRow", bound=tuple[Any, ...])


def in_chunks(rows: Iterable[AnyRow]) -> Iterator[list[AnyRow]]:
    """Yield chunks of rows (number, text, ...), limited in their number and their total characters."""
    chunk: list[AnyRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += len(row[1])
        if len(chunk) == CHUNK_TEXTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def first_words(text: str, words: int) -> str:
    if "<" in text:  # a tag of mark-up can be many words and no token, and is not cut
        return text
    parts = text.split(None, words)
    return text[: -len(parts[-1])] if len(parts) > words else text


def shortened_lists(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, limit: int) -> list[list[str]]:
    """Return the arguments of a tokenizer that truncates to so many tokens, without most of what it leaves out.

    It would make rows of what it leaves out, too: of a pair, of each part of one text with each part of the other.
    """
    if tokenizer.truncation_side == "left":
        return text_lists(texts)
    return [[first_words(text, WORDS_OF_TOKENS * limit) for text in each] for each in text_lists(texts)]


def encode_texts(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> tuple["Dataset", int]:
    """Return the tokenizer's columns, and the number of texts that were truncated.

    Texts are tokenised in slices, as the tokenizer's own objects take 200 bytes a token.
    """
    from datasets import Dataset, concatenate_datasets

    lists, slices, truncated = shortened_lists(texts, tokenizer, tokenizer.model_max_length), [], 0
    for start in range(0, max(1, len(texts)), SLICE):
        encoded = tokenizer(*(each[start : start + SLICE] for each in lists), truncation=True)
        truncated += sum(bool(encoding.overflowing) for encoding in encoded.encodings or ())
        slices.append(Dataset.from_dict(dict(encoded)))
    return concatenate_datasets(slices), truncated
