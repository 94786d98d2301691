# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify texts in batches, and explain the answers by the words."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import is_linear
from ..data.columns import is_missing
from ..data.text_pairs import text_lists
from ..fast.text_classification import batches_by_length
from ..utils.errors import DataError
from .answers import ALL, PLAIN, Choice, to_answers
from .arguments import PredictArguments
from .explanations import contributions, with_and_without
from .linear_models import LinearClassifier, load_linear
from .loading import load_head, set_length
from .rows import in_chunks


@dataclass
class Classifier:
    """Classifies texts; counts empty texts, those truncated to `limit` tokens, and those mostly of unknown tokens."""

    model: transformers.PreTrainedModel
    tokenizer: Any
    limit: int | None
    batch_size: int
    choice: Choice = PLAIN
    empty: int = 0
    cut: int = 0
    unknown: int = 0

    def classify(self, texts: list[str], progress: Callable[[int], object]) -> list[tuple]:
        """Return what `to_answers` does for each text, None for empty ones. Batched by length, longest first."""
        answers: list[tuple] = [(None,) * (2 if self.choice.top_k is None else 3)] * len(texts)
        features = self._encode(texts)
        indices = [index for index, text in enumerate(texts) if not is_missing(text) and features[index]["input_ids"]]
        lengths = [len(features[index]["input_ids"]) for index in indices]
        self.empty += len(texts) - len(indices)
        progress(len(texts) - len(indices))
        for chosen in batches_by_length(lengths, self.batch_size, self.model.device):
            batch = [indices[number] for number in chosen]
            for index, answer in zip(batch, self._answer([features[index] for index in batch])):
                answers[index] = answer
            progress(len(batch))
        return answers

    def _encode(self, texts: list[str]) -> list[dict[str, list[int]]]:
        """Tokenise the texts, truncated to the limit, and count truncations."""
        lists = text_lists(texts)
        encoded = self.tokenizer(*lists, truncation=self.limit is not None, max_length=self.limit, verbose=False)
        if encoded.encodings is not None:
            self.cut += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        elif self.limit is not None:  # slow tokenizers do not report truncation
            self.cut += sum(len(ids) > self.limit for ids in self.tokenizer(*lists, verbose=False)["input_ids"])
        self.unknown += sum(map(self._is_unknown, encoded["input_ids"]))
        return [dict(zip(encoded, values)) for values in zip(*encoded.values())]

    def _is_unknown(self, ids: list[int]) -> bool:
        """Return whether at least half of the tokens, special ones aside, are the unknown token."""
        unknown = ids.count(self.tokenizer.unk_token_id)
        others = sum(id not in self.tokenizer.all_special_ids for id in ids) if unknown else 0
        return unknown > 0 and unknown >= others

    @torch.inference_mode()
    def _answer(self, features: list[dict[str, list[int]]]) -> list[tuple]:
        """Return the answers to one batch, whose first text is the longest."""
        try:
            inputs = DataCollatorWithPadding(self.tokenizer)(features)
            logits = self.model(**{name: tensor.to(self.model.device) for name, tensor in inputs.items()}).logits
        except (RuntimeError, IndexError, ValueError) as error:
            size = f"{len(features)} texts of up to {len(features[0]['input_ids'])} tokens (--batch_size, --max_length)"
            raise DataError(f"the model fails on {size}: {textwrap.shorten(str(error), 240)}") from error
        if not logits.isfinite().all():
            raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")
        return to_answers(logits.float().cpu(), self.model.config, self.choice)


def uncounted(texts: int) -> None:
    """Show no progress."""


def explain(
    classifier: Classifier | LinearClassifier, texts: list[str], progress: Callable[[int], object]
) -> list[list[dict[str, Any]] | None]:
    """Return the contributions of the words of each text, None for empty texts. Batches hold words of several texts."""
    every = replace(classifier, choice=Choice(ALL), empty=0, cut=0, unknown=0)
    variants = (
        (number, each) for number, text in enumerate(texts) if not is_missing(text) for each in with_and_without(text)
    )
    labels: dict[int, Any] = {}
    kept: list[list[float | None]] = [[] for _ in texts]
    progress(sum(map(is_missing, texts)))
    for chunk in in_chunks(variants):
        progress(len({number for number, _ in chunk} - labels.keys()))
        for (number, _), answer in zip(chunk, every.classify([text for _, text in chunk], uncounted)):
            scores = _scores(*answer)
            label = labels.setdefault(number, next(iter(scores), None))  # the text comes before its variants
            kept[number].append(scores.get(label))
    return [contributions(text, scores) if scores else None for text, scores in zip(texts, kept)]


def _scores(label: Any, score: Any, top: Sequence[Mapping[str, Any]] | None = ()) -> dict[Any, float]:
    """Return the score of each label, most likely first, or the number of a regression; {} for an empty text."""
    if top == () and label is not None:
        return {label: score}
    return {each["label"]: each["score"] for each in top or ()}


def linear_classifier(arguments: PredictArguments) -> LinearClassifier:
    """Load a linear model. Raises `DataError` if it is damaged, or cannot do what the arguments ask for."""
    name, classifier = f"--model {arguments.model}", load_linear(arguments.model)
    if arguments.max_length is not None or arguments.precision != "float32":
        raise DataError(f"{name}: a linear model, on which --max_length and --precision have no effect; remove them")
    if classifier.has_pairs != arguments.has_pairs:
        reads = "pairs of texts; name the columns of both" if classifier.has_pairs else "single texts; name one column"
        raise DataError(f"{name}: reads {reads} (--text_column)")
    arguments.check_model(classifier.model.config)
    return replace(classifier, choice=arguments.choice)


def load_classifier(arguments: PredictArguments) -> Classifier:
    """Load a classifier. Raises `DataError` as `load_head` does."""
    what = "not a trained text classifier"
    model, tokenizer = load_head(arguments, AutoModelForSequenceClassification, what, arguments.check_model)
    set_length(arguments, tokenizer, model.config)
    limit = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    return Classifier(model, tokenizer, limit, arguments.batch_size, arguments.choice)


def load_any(arguments: PredictArguments) -> Classifier | LinearClassifier:
    """Load a linear model if the folder holds one, or else a classifier."""
    return linear_classifier(arguments) if is_linear(arguments.model) else load_classifier(arguments)
