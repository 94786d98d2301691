# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify texts in batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding

from ..bridges.model_limits import NO_LIMIT
from ..data.columns import is_missing
from ..data.encoded_texts import shortened_lists
from ..data.text_pairs import parts_of, text_lists
from .answers import Scored, to_scores
from .arguments import PredictArguments
from .batches import Job, check_finite, failing_on, in_batches, uncounted
from .loading import load_head


def is_empty(text: str) -> bool:
    """Return whether a text, or one of a pair, has no visible character."""
    return any(map(is_missing, parts_of(text)))


def unseen_words(encoding: Any, unknown: int | None, parts: Sequence[str]) -> list[str]:
    """Return the words of a text, or of a pair, for which a tokenizer has its unknown token alone, once each."""
    if unknown is None or unknown not in encoding.ids:
        return []
    tokens = zip(encoding.ids, encoding.sequence_ids, encoding.offsets)
    words = (parts[side][slice(*span)] for token, side, span in tokens if token == unknown and side is not None)
    return [word for word in dict.fromkeys(words) if any(map(str.isalnum, word))]


@dataclass
class Classifier:
    """Classifies texts of files and of requests, which are truncated to `limit` tokens."""

    model: Any
    tokenizer: Any = None
    limit: int | None = None
    batch_size: int = 32

    @property
    def device(self) -> torch.device:
        return self.model.device

    def classify(self, texts: Sequence[str], progress: Callable[[int], object] = uncounted) -> list[Any]:
        """Return the scores of each text, None for empty ones. Batched by length, longest first."""
        return self.answer(self.read(texts), self.scores, progress)

    def answer(
        self, jobs: Sequence[Job | None], run: Callable[[list[Job]], list[Any]], progress: Callable[[int], object]
    ) -> list[Any]:
        """Return what `run` answers to each job, and None for None."""
        return in_batches(jobs, lambda job: job.tokens, run, self.batch_size, self.device, progress)

    def scores(self, batch: Sequence[Job]) -> list[list[Scored]]:
        """Return the score of each class for each job of a batch, in the order of the classes."""
        return to_scores(self.logits([job.features for job in batch]), self.model.config)

    def read(self, texts: Sequence[str]) -> list[Job | None]:
        """Tokenise the texts, truncated to the limit; None for those without a visible character or a token."""
        lists = text_lists(texts) if self.limit is None else shortened_lists(texts, self.tokenizer, self.limit)
        encoded = self.tokenizer(*lists, truncation=self.limit is not None, max_length=self.limit, verbose=False)
        if encoded.encodings is not None:
            are_cut = [bool(encoding.overflowing) for encoding in encoded.encodings]
        else:  # slow tokenizers do not report truncation
            whole = self.tokenizer(*lists, verbose=False)["input_ids"] if self.limit is not None else []
            are_cut = [len(ids) > self.limit for ids in whole] or [False] * len(texts)
        rows = (dict(zip(encoded, values)) for values in zip(*encoded.values()))
        encodings = encoded.encodings or [None] * len(texts)
        return [
            None if is_empty(text) or not row["input_ids"] else self._job(text, row, encoding, is_cut)
            for text, row, encoding, is_cut in zip(texts, rows, encodings, are_cut)
        ]

    def _job(self, text: str, features: dict[str, list[int]], encoding: Any, is_cut: bool) -> Job:
        unseen = unseen_words(encoding, self.tokenizer.unk_token_id, parts_of(text)) if encoding else ()
        return Job(features, len(features["input_ids"]), is_cut, unseen=unseen)

    @torch.inference_mode()
    def logits(self, features: list[Any]) -> torch.Tensor:
        """Return the logits (B, C) of one batch, whose first text is the longest. Raises `DataError` for NaN."""
        size = f"{len(features)} texts of up to {len(features[0]['input_ids'])} tokens (--batch_size, --max_length)"
        with failing_on(f"on {size}"):
            inputs = DataCollatorWithPadding(self.tokenizer)(features)
            logits = self.model(**{name: tensor.to(self.device) for name, tensor in inputs.items()}).logits
        check_finite(logits)
        return logits.float().cpu()


def load_classifier(arguments: PredictArguments) -> Classifier:
    """Load a classifier. Raises `DataError` as `load_head` does."""
    model, tokenizer = load_head(arguments, AutoModelForSequenceClassification, "not a trained text classifier")
    arguments.choice.check(model.config)
    limit = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    return Classifier(model, tokenizer, limit, arguments.batch_size)
