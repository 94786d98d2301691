# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tokenise documents into rows: packed end to end without padding, or in pieces."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedTokenizerBase

from tokenization.training import parts_of

from ..utils.errors import DataError, counted
from ..utils.markdown import percent
from .encoded_texts import in_chunks

Frame = tuple[list[int], list[int]]  # the special tokens before and after a document


class Tokens(NamedTuple):
    """Concatenated documents: token ids and the boolean starts of documents and of words, each (tokens,)."""

    ids: np.ndarray
    documents: np.ndarray
    words: np.ndarray


@dataclass(frozen=True)
class DocumentTokenizer:
    """Tokenise documents and add the special tokens around each. Special tokens spelled out in a text are plain text.

    whole_words: mark word starts as given by the tokenizer's pre-tokenizer; otherwise each token is a word.
    """

    tokenizer: PreTrainedTokenizerBase
    frame: Frame
    whole_words: bool = False

    def __call__(self, documents: Iterable[str]) -> Iterator[Tokens]:
        """Yield each document's tokens, long documents in several parts. Raises `DataError` if there are no tokens."""
        has_tokens = False
        for batch in in_chunks(chain.from_iterable(map(_pieces, documents))):
            encoded = self.tokenizer(
                [text for _, text, _ in batch],
                add_special_tokens=False, split_special_tokens=True, return_attention_mask=False, verbose=False,
            )  # fmt: skip
            has_tokens = has_tokens or any(encoded["input_ids"])
            if self.whole_words and not encoded.encodings:
                raise DataError("--whole_word requires a fast tokenizer, which reports word boundaries")
            for number, (is_first, _, is_last) in enumerate(batch):
                words = encoded.word_ids(number) if self.whole_words else None
                yield self._framed(encoded["input_ids"][number], words, is_first, is_last)
        if not has_tokens:
            raise DataError(
                "the tokenizer produces no tokens for these documents; check that it supports their language"
            )

    def _framed(self, ids: list[int], words: list[int | None] | None, is_first: bool, is_last: bool) -> Tokens:
        before, after = (self.frame[0] if is_first else []), (self.frame[1] if is_last else [])
        framed = np.array([*before, *ids, *after], dtype=np.int32)
        documents, starts = np.zeros(len(framed), dtype=bool), np.ones(len(framed), dtype=bool)
        documents[:1] = is_first
        if words:
            numbers = np.array([-1 if word is None else word for word in words])
            starts[len(before) + 1 : len(before) + len(ids)] = np.diff(numbers) != 0
        return Tokens(framed, documents, starts)


def _pieces(text: str) -> Iterator[tuple[bool, str, bool]]:
    """Yield (is_first, part, is_last) for the parts of a text."""
    *others, last = parts_of(text)
    yield from ((number == 0, part, False) for number, part in enumerate(others))
    yield not others, last, True


def template_frame(tokenizer: PreTrainedTokenizerBase) -> Frame:
    """Return the special tokens that the tokenizer adds before and after a single text."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    ids, is_special = encoded["input_ids"], encoded["special_tokens_mask"]
    first, last = is_special.index(0), len(ids) - is_special[::-1].index(0)
    return ids[:first], ids[last:]


def join(parts: Sequence[Tokens]) -> Tokens:
    return Tokens(*map(np.concatenate, zip(*parts)))


IGNORED = -100  # the label that the loss ignores

TokenRow = dict[str, Tensor]


def make_row(tokens: Tokens) -> TokenRow:
    """Build a row of block_size tokens from block_size + 1; the last one serves only as the final next token.

    Keys: input_ids, position_ids (restarting with each document), next_ids (-100 at a document's end), word_starts.
    """
    ids, documents, words = map(torch.from_numpy, tokens)
    ids = ids.long()
    token_indices = torch.arange(len(ids) - 1)
    starts = torch.where(documents[:-1], token_indices, 0).cummax(0).values
    return {
        "input_ids": ids[:-1],
        "position_ids": token_indices - starts,
        "next_ids": ids[1:].masked_fill(documents[1:], IGNORED),
        "word_starts": words[:-1] | (token_indices == 0),
    }


class NumberedRows(Dataset):
    """Rows in memory. A row's number seeds its noise and changes with each epoch.

    ids: all tokens of the documents, without padding.
    """

    def __init__(self, rows: int, ids: np.ndarray) -> None:
        self.size, self.ids = rows, ids
        self._epoch = torch.tensor(0).share_memory_()  # persistent workers must see the change

    def set_epoch(self, epoch: int) -> None:
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return self.size

    def tokens_per_row(self) -> float:
        return len(self.ids) / len(self)

    def number(self, row: int) -> Tensor:
        return self._epoch * len(self) + row


class PackedRows(NumberedRows):
    """All tokens in rows of block_size, each exactly once; the last row is padded.

    Each padding token is a separate document, so that no token attends to it and it has no label.
    """

    def __init__(self, documents: Iterator[Tokens], block_size: int, pad_token_id: int) -> None:
        tokens = join(list(documents))
        self.block_size, self.padding = block_size, -len(tokens.ids) % block_size
        end = Tokens(*(np.full(self.padding + 1, value) for value in (np.int32(pad_token_id), True, True)))
        self.tokens = join([tokens, end])
        super().__init__((len(self.tokens.ids) - 1) // block_size, tokens.ids)

    def __getitem__(self, row: int) -> TokenRow:
        start = row * self.block_size
        tokens = Tokens(*(array[start : start + self.block_size + 1] for array in self.tokens))
        return {**make_row(tokens), "number": self.number(row)}

    def __str__(self) -> str:
        waste = self.padding / (len(self) * self.block_size)
        return f"{counted(len(self), 'row')} of {self.block_size}, {percent(waste)} of it padding"


class Pieces(NumberedRows):
    """Documents split into pieces of nearly equal length, at most `longest` tokens each."""

    def __init__(self, documents: Iterator[Tokens], longest: int) -> None:
        pieces = [
            piece
            for document in documents
            for piece in np.array_split(document.ids, max(1, -(-len(document.ids) // longest)))
            if len(piece)
        ]
        self.lengths, ids = np.array(list(map(len, pieces))), np.concatenate(pieces)
        self.pieces = torch.from_numpy(ids).split(self.lengths.tolist())
        super().__init__(len(pieces), ids)

    def __getitem__(self, row: int) -> TokenRow:
        return {"input_ids": self.pieces[row], "number": self.number(row)}

    def __str__(self) -> str:
        return f"{len(self):,} pieces of at most {self.lengths.max()}"


class SimilarLengths(Sampler[int]):
    """Random batches of pieces of similar length, to reduce padding: sorted within groups of 50 batches.

    The order depends only on the seed and the epoch, so that a resumed run continues in it.
    """

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng([self.seed, self.epoch])
        order, size = random.permutation(len(self)), 50 * self.batch_size
        groups = (order[start : start + size] for start in range(0, len(self), size))
        order = np.concatenate([group[np.argsort(-self.lengths[group], kind="stable")] for group in groups])
        whole = len(self) - len(self) % self.batch_size
        batches = random.permutation(order[:whole].reshape(-1, self.batch_size))
        yield from map(int, (*batches.flatten(), *order[whole:]))
