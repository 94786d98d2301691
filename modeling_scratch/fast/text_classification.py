# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A text-classification pipeline class with the library's results that batches the longest texts first."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DataCollatorWithPadding, TextClassificationPipeline

from ..modeling_base import ScratchPreTrainedModel

BATCHES_AT_ONCE = 64  # texts of this many batches are sorted together
CPU_TOKENS = 2048  # per batch: with fewer, call overhead dominates; with more, states exceed the CPU cache
# Tokenizer arguments with which each text gives one row, independent of the other texts.
TOKENIZING = {"truncation", "max_length", "padding", "add_special_tokens"}


def batches_by_length(lengths: Sequence[int], batch_size: int, device: torch.device) -> Iterator[list[int]]:
    """Yield batches of indices of texts, longest first, with no more tokens than batch_size of the longest text.

    On an accelerator a batch has batch_size texts; on a CPU as many as fit in CPU_TOKENS, at least one. Empty texts
    join the last batch.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    room, filled = min(batch_size * max(lengths, default=0), CPU_TOKENS), len(lengths) - lengths.count(0)
    first = 0
    while first < len(order):
        count = max(1, room // max(1, lengths[order[first]])) if device.type == "cpu" else batch_size
        last = first + count if first + count < filled else len(order)
        yield order[first:last]
        first = last


class SortingTextClassificationPipeline(TextClassificationPipeline):
    """Return the library pipeline's answers to a list of texts, in order, in less time.

    Scratch models get batches of texts sorted by length, longest first, tokenized many at a time. Other models, inputs
    that are not lists of strings, and other tokenizer arguments use the library's implementation.
    """

    def get_iterator(self, inputs: Any, num_workers: int, batch_size: int, *params: dict[str, Any]) -> Any:
        """params: of preprocess, of forward, of postprocess."""
        sorts = isinstance(self.model, ScratchPreTrainedModel) and self.tokenizer.pad_token_id is not None
        are_texts = isinstance(inputs, list) and all(isinstance(text, str) for text in inputs)
        if sorts and are_texts and params[0].keys() <= TOKENIZING:
            return self._sorted_answers(inputs, batch_size, *params)
        return super().get_iterator(inputs, num_workers, batch_size, *params)

    def _sorted_answers(
        self, texts: list[str], batch_size: int, tokenizing: dict[str, Any], forward: dict[str, Any], answering: Any
    ) -> Iterator[Any]:
        collate = DataCollatorWithPadding(self.tokenizer)
        for start in range(0, len(texts), BATCHES_AT_ONCE * batch_size):
            encoded = self.tokenizer(texts[start : start + BATCHES_AT_ONCE * batch_size], **tokenizing)
            rows = [dict(zip(encoded, row)) for row in zip(*encoded.values())]
            answers: dict[int, Any] = {}
            lengths = [len(row["input_ids"]) for row in rows]
            for places in batches_by_length(lengths, batch_size, self.device):
                outputs = self.forward(collate([rows[place] for place in places]), **forward)
                answers |= zip(places, self._records(outputs["logits"], answering))
            yield from (answers[place] for place in range(len(rows)))

    def _records(self, logits: Tensor, answering: dict[str, Any]) -> list[Any]:
        """postprocess for each row of logits (B, C); if only the best label is asked for, for all rows at once."""
        config = self.model.config
        is_plain = config.num_labels > 1 and config.problem_type in (None, "single_label_classification")
        if answering or not is_plain:
            return [self.postprocess({"logits": row[None]}, **answering) for row in logits]
        scores, labels = logits.float().softmax(-1).max(-1)
        names = config.id2label
        return [{"label": names[label], "score": score} for label, score in zip(labels.tolist(), scores.tolist())]
