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
    """Rows to train and to evaluate on, the collator, and the name of the input that holds what is predicted."""

    train: PackedRows | Pieces | StreamedRows
    validation: PackedRows | Pieces
    collator: Callable[[Sequence[Row]], Batch]
    label_name: str
    predicted: str
    longest: int
    text: TextSize
    notes: list[str]

    @property
    def is_whole_text(self) -> bool:
        """Whether all of the text is predicted, each token once, so that nats can be spread over its characters."""
        return self.label_name == "shift_labels"

    @property
    def tokens_per_row(self) -> float:
        return len(self.validation.ids) / len(self.validation)


def prepare(
    arguments: PretrainingModelArguments, documents: Documents, tokenizer: PreTrainedTokenizerBase, seed: int
) -> PretrainingData:
    """Tokenise and lay out what `documents` hold: in packed rows, or in padded pieces for an encoder-decoder."""
    frame, pad = document_frame(tokenizer, arguments.objective), tokenizer.pad_token_id or 0
    layout: Any
    task: str = arguments.objective
    if task == "denoising":
        layout, options = Pieces, {"longest": arguments.block_size - sum(map(len, frame))}
        to_tokens, task = DocumentTokenizer(tokenizer, ([], [])), arguments.denoising
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
    collator = make_collator(task, arguments.mask_fraction, tokenizer, frame, seed)
    label_name = "shift_labels" if task == "clm" else "labels"
    text = TextSize.of(documents.validation)
    return PretrainingData(train, validation, collator, label_name, PREDICTED[task], arguments.block_size, text, notes)


def document_frame(tokenizer: PreTrainedTokenizerBase, objective: str) -> Frame:
    """What stands around a document: the tokenizer's template; for a causal model a beginning, if any, and the end."""
    if objective != "clm":
        return template_frame(tokenizer)
    return [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else [], [tokenizer.eos_token_id]


def _counts(ids: np.ndarray, tokenizer: PreTrainedTokenizerBase) -> str:
    unknown = int((ids == tokenizer.unk_token_id).sum()) if tokenizer.unk_token_id is not None else 0
    return f"{len(ids):,} tokens" + (f", {unknown:,} of them unknown" if unknown else "")


def make_collator(
    task: str, fraction: float | None, tokenizer: PreTrainedTokenizerBase, frame: Frame, seed: int
) -> Callable[[Sequence[Row]], Batch]:
    """What makes batches for the task: mlm, clm, infilling or span_corruption."""
    if task == "clm":
        return next_tokens
    fraction = MASKED[task] if fraction is None else fraction
    if task == "mlm":
        ordinary = np.ones(len(tokenizer), dtype=bool)
        ordinary[tokenizer.all_special_ids] = False
        return MaskTokens(tokenizer.mask_token_id, ordinary, fraction, seed)
    noise: Infill | CorruptSpans
    if task == "infilling":
        noise = Infill(tokenizer.mask_token_id, sentence_ends(tokenizer), fraction)
    else:
        noise = CorruptSpans(np.array(tokenizer.convert_tokens_to_ids(SENTINELS)), fraction)
    return Denoise(noise, frame, tokenizer.pad_token_id, seed)
