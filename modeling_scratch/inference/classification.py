# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A classifier: from texts to tokens, and from those of a batch to logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding

from ..bridges.model_limits import NO_LIMIT
from ..data.columns import is_missing
from ..data.encoded_texts import shortened_lists
from ..data.text_pairs import parts_of, text_lists
from .arguments import PredictArguments
from .batches import Job, check_finite, failing_on
from .loading import load_head


def is_empty(text: str) -> bool:
    """Return whether a text, or one of a pair, has no visible character."""
    return any(map(is_missing, parts_of(text)))


def unseen_words(encoding: Any, unknown: int | None, parts: Sequence[str]) -> list[str]:
    """Return the words of a text, or of a pair, for which a tokenizer has its unknown token alone, once each.

    Signs are no words, but of a text that has nothing else.
    """
    if unknown is None or unknown not in encoding.ids:
        return []
    tokens = [each for each in zip(encoding.ids, encoding.sequence_ids, encoding.offsets) if each[1] is not None]
    found = list(dict.fromkeys(parts[side][slice(*span)] for token, side, span in tokens if token == unknown))
    words = [word for word in found if any(map(str.isalnum, word))]
    return words or (found if all(token == unknown for token, *_ in tokens) else [])


@dataclass
class Classifier:
    """A model and its tokenizer, which truncates to `limit` tokens; None: to none."""

    model: Any
    tokenizer: Any = None
    limit: int | None = None

    @property
    def device(self) -> torch.device:
        return self.model.device

    def read(self, texts: Sequence[str]) -> list[Job | None]:
        """Tokenise the texts, truncated to the limit; None for those without a visible character or a token."""
        lists = text_lists(texts) if self.limit is None else shortened_lists(texts, self.tokenizer, self.limit)
        encoded = self.tokenizer(*lists, truncation=self.limit is not None, max_length=self.limit, verbose=False)
        encodings = encoded.encodings or [None] * len(texts)
        lengths: list[int] = []
        if self.limit is not None and encoded.encodings is None:  # slow tokenizers do not report truncation
            lengths = [len(ids) for ids in self.tokenizer(*lists, verbose=False)["input_ids"]]
        jobs = list[Job | None]()
        for row, (text, encoding) in enumerate(zip(texts, encodings)):
            features = {name: values[row] for name, values in encoded.items()}
            size = len(features["input_ids"])
            is_cut = bool(encoding.overflowing) if encoding else bool(lengths) and lengths[row] > size
            unseen = unseen_words(encoding, self.tokenizer.unk_token_id, parts_of(text)) if encoding else ()
            jobs.append(None if is_empty(text) or not size else Job(features, size, is_cut, unseen=unseen))
        return jobs

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
    limit = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    return Classifier(model, tokenizer, limit)
