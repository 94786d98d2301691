# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What each objective reads and predicts: documents as rows of tokens, and the collator that makes batches of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from document_tokens import DocumentTokenizer, Frame, template_frame
from documents import Documents, Stream, counted
from noise import Batch, CorruptSpans, Denoise, Infill, MaskTokens, next_tokens, sentence_ends
from packed_documents import PackedRows, Pieces, Row, StreamedRows
from pretraining_model import SENTINELS, PretrainingModelArguments
from text_files import DataError
from transformers import PreTrainedTokenizerBase

MASKED = {"mlm": 0.15, "infilling": 0.3, "span_corruption": 0.15}
PREDICTED = {
    "mlm": "masked tokens, the same at each evaluation",
    "clm": "all tokens but the first of a document, the end of each among them",
    "infilling": "all tokens of the texts, of which the encoder reads damaged copies, the same at each evaluation",
    "span_corruption": "tokens of the spans that are cut out, and their sentinels, the same at each evaluation",
}


@dataclass(frozen=True)
class TextSize:
    """The text that is evaluated on."""

    documents: int
    characters: int
    bytes: int

    def __str__(self) -> str:
        return f"{counted(self.documents, 'validation document')}, {self.characters:,} characters"

    @classmethod
    def of(cls, texts: Sequence[str]) -> "TextSize":
        return cls(len(texts), sum(map(len, texts)), sum(len(text.encode()) for text in texts))


@dataclass(frozen=True)
class PretrainingData:
    """Rows to train and to evaluate on, of `longest` tokens at most, the collator, and what is said of them.

    is_whole_text: all of the text is predicted, each token once, so that nats can be spread over its characters.
    """

    train: PackedRows | Pieces | StreamedRows
    validation: PackedRows | Pieces
    collator: Callable[[Sequence[Row]], Batch]
    tokens_per_row: float
    task: str
    longest: int
    text: TextSize
    is_whole_text: bool
    notes: list[str]

    @property
    def label_name(self) -> str:
        """The input that holds what is predicted."""
        return "shift_labels" if self.task == "clm" else "labels"

    @property
    def predicted(self) -> str:
        return PREDICTED[self.task]


def prepare(
    arguments: PretrainingModelArguments, documents: Documents, tokenizer: PreTrainedTokenizerBase, seed: int
) -> PretrainingData:
    """Tokenise and lay out what `documents` hold: in packed rows, or in padded pieces for an encoder-decoder."""
    frame, pad = document_frame(tokenizer, arguments.objective), tokenizer.pad_token_id or 0
    collator = make_collator(arguments, tokenizer, frame, seed)
    layout: Any
    if arguments.denoising:
        layout, options = Pieces, {"longest": arguments.block_size - sum(map(len, frame))}
        to_tokens = DocumentTokenizer(tokenizer, ([], []))
    else:
        layout, options = PackedRows, {"block_size": arguments.block_size, "pad_token_id": pad}
        to_tokens = DocumentTokenizer(tokenizer, frame, arguments.whole_word)
    validation = layout(to_tokens(documents.validation), **options)
    notes = [f"validation: {validation}, {_counts(validation.ids, tokenizer)}"]
    if isinstance(documents.train, Stream):
        train = StreamedRows(documents.train, to_tokens, partial(layout.cut, **options), seed)
    else:
        train = layout(to_tokens(documents.train), **options)
        notes.insert(0, f"train: {train}, {_counts(train.ids, tokenizer)}")
    return PretrainingData(
        train, validation, collator, train.tokens_per_row(), arguments.task, arguments.block_size,
        TextSize.of(documents.validation), arguments.objective == "clm" and bool(frame[0]), notes,
    )  # fmt: skip


def document_frame(tokenizer: PreTrainedTokenizerBase, objective: str) -> Frame:
    """What stands around a document: the tokenizer's template; for a causal model a beginning, if any, and the end."""
    if objective != "clm":
        return template_frame(tokenizer)
    return [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else [], [tokenizer.eos_token_id]


def _counts(ids: np.ndarray, tokenizer: PreTrainedTokenizerBase) -> str:
    unknown = int((ids == tokenizer.unk_token_id).sum()) if tokenizer.unk_token_id is not None else 0
    return f"{len(ids):,} tokens" + (f", {unknown:,} of them unknown" if unknown else "")


def make_collator(
    arguments: PretrainingModelArguments, tokenizer: PreTrainedTokenizerBase, frame: Frame, seed: int
) -> Callable[[Sequence[Row]], Batch]:
    """What makes the batches of an objective."""
    if arguments.objective == "clm":
        return next_tokens
    fraction = arguments.mask_fraction or MASKED[arguments.task]
    if arguments.objective == "mlm":
        ordinary = np.ones(len(tokenizer), dtype=bool)
        ordinary[tokenizer.all_special_ids] = False
        return MaskTokens(tokenizer.mask_token_id, ordinary, fraction, seed)
    noise: Infill | CorruptSpans
    if arguments.denoising == "infilling":
        noise = Infill(tokenizer.mask_token_id, sentence_ends(tokenizer), fraction)
    else:
        noise = CorruptSpans(np.array(tokenizer.convert_tokens_to_ids(SENTINELS)), fraction)
        _check_targets(noise, arguments.block_size - sum(map(len, frame)))
    return Denoise(noise, frame, tokenizer.pad_token_id, seed)


def _check_targets(noise: CorruptSpans, longest: int) -> None:
    """Spans and their sentinels have to fit where the text does; how many they are hangs on its length alone."""
    _, target = noise(np.zeros(longest, dtype=np.int32), np.random.default_rng(0))
    if len(target) > longest:
        raise DataError(
            f"--mask_fraction {noise.fraction}: spans out of {longest} tokens make a target of {len(target)}, with "
            "their sentinels, which is longer than --block_size; mask less"
        )
