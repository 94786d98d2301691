# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Collators for pretraining objectives: rows of tokens -> model inputs and labels.

All randomness derives from the seed and the row numbers. A resumed run therefore gets the same batches as an
uninterrupted one, with any number of workers, and every evaluation gets the same batches.

Shapes: B rows in a batch, T tokens in a row, n tokens in a piece, k spans in a piece.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import DataCollatorWithFlattening, PreTrainedTokenizerBase

from .packed_documents import IGNORED, Frame, TokenRow

Batch = dict[str, Tensor]

MEAN_SPAN = 3  # tokens
SENTENCE_ENDS = (".", "!", "?")


def generator_of(seed: int, rows: Sequence[TokenRow]) -> np.random.Generator:
    return np.random.default_rng([seed, *(int(row["number"]) for row in rows)])


def stack(rows: Sequence[TokenRow], name: str) -> Tensor:
    return torch.stack([row[name] for row in rows])


def next_token_batch(rows: Sequence[TokenRow]) -> Batch:
    """Causal language modelling: each token predicts the next in its document (Radford et al. 2018, 3.1).

    shift_labels (B, T) are the targets; labels (B, T) are their unshifted form, for code that counts labels.
    """
    ids, positions = stack(rows, "input_ids"), stack(rows, "position_ids")
    return {
        "input_ids": ids,
        "position_ids": positions,
        "labels": ids.masked_fill(positions == 0, IGNORED),
        "shift_labels": stack(rows, "next_ids"),
    }


@dataclass(frozen=True)
class MaskTokens:
    """Masked language modelling: 80 % of targets become masks, 10 % random tokens (Devlin et al. 2019, 3.1).

    The targets are `fraction` of the batch's tokens, as closely as whole words allow. Special tokens are neither
    targets nor replacements. ordinary (V,) is True for tokens that are not special.
    """

    mask_token_id: int
    ordinary: np.ndarray
    fraction: float
    seed: int

    def __call__(self, rows: Sequence[TokenRow]) -> Batch:
        random = generator_of(self.seed, rows)
        ids = stack(rows, "input_ids")
        inputs = ids.numpy().flatten()
        words = stack(rows, "word_starts").numpy().flatten().cumsum() - 1
        chosen = random.permutation(choose_words(words, self.ordinary[inputs], self.fraction, random))
        masked, exchanged, _ = np.split(chosen, [round(0.8 * len(chosen)), round(0.9 * len(chosen))])
        labels = np.full_like(inputs, IGNORED)
        labels[chosen] = inputs[chosen]
        inputs[masked] = self.mask_token_id
        inputs[exchanged] = random.choice(np.flatnonzero(self.ordinary), len(exchanged))
        return {
            "input_ids": torch.from_numpy(inputs).view_as(ids),
            "position_ids": stack(rows, "position_ids"),
            "labels": torch.from_numpy(labels).view_as(ids),
        }


def choose_words(words: np.ndarray, allowed: np.ndarray, fraction: float, random: np.random.Generator) -> np.ndarray:
    """Return the indices of the allowed tokens of random words, as close to `fraction` of them as whole words allow.

    words (tokens,): the word index of each token, 0, 0, 1, ...; allowed (tokens,): boolean.
    """
    sizes = np.bincount(words, weights=allowed)
    order = random.permutation(np.flatnonzero(sizes))
    reached = sizes[order].cumsum()
    number = int(np.abs(reached - fraction * allowed.sum()).argmin()) + 1 if len(order) else 0
    taken = np.zeros(len(sizes), dtype=bool)
    taken[order[:number]] = True
    return np.flatnonzero(taken[words] & allowed)


def place_spans(tokens: int, lengths: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the sorted starts (k,) of spans of the given lengths (k,), uniform over all non-adjacent placements.

    Each span goes into its own gap before one of the remaining tokens or after the last.
    """
    gaps = np.sort(random.choice(tokens - lengths.sum() + 1, len(lengths), replace=False))
    return gaps + lengths.cumsum() - lengths


def infilling_lengths(tokens: int, fraction: float, random: np.random.Generator) -> np.ndarray:
    """Draw span lengths from Poisson(3), zeros included, that sum to `fraction` of the tokens; the last is cut to fit.

    There are at most as many spans as masked tokens and gaps, so that the masks do not lengthen the text.
    """
    budget = round(fraction * tokens)
    lengths = random.poisson(MEAN_SPAN, budget)
    while lengths.sum() < budget:
        lengths = np.append(lengths, random.poisson(MEAN_SPAN, budget))
    lengths = lengths[: int(np.searchsorted(lengths.cumsum(), budget)) + 1] if budget else lengths[:0]
    lengths[-1:] -= lengths.sum() - budget
    return lengths[len(lengths) - min(len(lengths), budget, tokens - budget + 1) :]


def replace_spans(ids: np.ndarray, starts: np.ndarray, lengths: np.ndarray, mark: int) -> np.ndarray:
    """Replace each span of the tokens (n,) by the mark."""
    ends = starts + lengths
    kept = np.split(ids, np.stack((starts, ends), axis=1).flatten())[::2]
    parts = [part for text in kept[:-1] for part in (text, [mark])]
    return np.concatenate([*parts, kept[-1]]).astype(ids.dtype)


def shuffle_sentences(ids: np.ndarray, ends: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Shuffle the sentences of tokens (n,). A sentence ends after a run of tokens for which ends (V,) is True."""
    last = ends[ids]
    sentences = np.split(ids, np.flatnonzero(last[:-1] & ~last[1:]) + 1)
    return np.concatenate([sentences[index] for index in random.permutation(len(sentences))])


def sentence_ends(tokenizer: PreTrainedTokenizerBase) -> np.ndarray:
    """Return a mask (V,) of the tokens whose text ends a sentence."""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    return np.array([text.strip().endswith(SENTENCE_ENDS) for text in texts])


@dataclass(frozen=True)
class Denoise:
    """BART's noise: one mask replaces each span, including empty ones, and sentences are shuffled.

    The target is the original text (Lewis et al. 2020, 2.2). sentence_ends (V,): see the function. Batches are padded
    to the longest row: input_ids, attention_mask, labels.
    """

    mask_token_id: int
    sentence_ends: np.ndarray
    fraction: float
    frame: Frame
    pad_token_id: int
    seed: int

    def __call__(self, rows: Sequence[TokenRow]) -> Batch:
        texts = [row["input_ids"].numpy() for row in rows]
        noisy = [self.noisy(ids, generator_of(self.seed, [row])) for ids, row in zip(texts, rows)]
        before, after = self.frame
        sources, targets = ([torch.tensor([*before, *ids.tolist(), *after]) for ids in side] for side in (noisy, texts))
        return {
            "input_ids": pad_sequence(sources, batch_first=True, padding_value=self.pad_token_id),
            "attention_mask": pad_sequence(list(map(torch.ones_like, sources)), batch_first=True),
            "labels": pad_sequence(targets, batch_first=True, padding_value=IGNORED),
        }

    def noisy(self, ids: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Tokens (n,) -> what the encoder reads."""
        shuffled = shuffle_sentences(ids, self.sentence_ends, random)
        lengths = infilling_lengths(len(ids), self.fraction, random)
        starts = place_spans(len(ids), lengths, random)
        return replace_spans(shuffled, starts, lengths, self.mask_token_id)


class FlatBatches:
    """Texts concatenated into one row, with their boundaries and one label per text.

    The format is that of DataCollatorWithFlattening, except that its labels are per token.
    """

    def __init__(self) -> None:
        self.flatten = DataCollatorWithFlattening(return_flash_attn_kwargs=True)

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        batch = self.flatten([{"input_ids": row["input_ids"]} for row in features], return_tensors="pt")
        if "token_type_ids" in features[0]:
            batch["token_type_ids"] = torch.tensor([[kind for row in features for kind in row["token_type_ids"]]])
        name = "label" if "label" in features[0] else "labels"
        return {**batch, "labels": torch.tensor([row[name] for row in features])}
