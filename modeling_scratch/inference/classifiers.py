# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classifiers, from texts to tokens and from those of a batch to logits: Transformers, and linear models of n-grams.

The folder of a linear model holds linear.json, with the n-grams and the classes, and weights.safetensors, no pickle.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding, PreTrainedConfig

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import LINEAR_MODEL, LINEAR_WEIGHTS, is_linear
from ..data.encoded_texts import shortened_lists
from ..data.text_pairs import parts_of, text_lists
from ..utils.errors import DataError
from ..utils.files import read_json, write_json
from .arguments import PredictArguments
from .batches import Job, check_finite, failing_on
from .loading import load_head
from .seen_words import unseen_words

WORD = r"\b\w+\b"  # includes one-letter words ("I", "a", "7 of 10"), unlike scikit-learn's default


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
        """Tokenise the texts, truncated to the limit; None for those without a token."""
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
            jobs.append(Job(features, size, is_cut, unseen=unseen) if size else None)
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


def ngram_counter(longest: int, **options: Any) -> CountVectorizer:
    """Return what counts the n-grams of up to `longest` lower-cased words in texts."""
    return CountVectorizer(ngram_range=(1, longest), token_pattern=WORD, dtype=np.float64, **options)


class LinearWeights(NamedTuple):
    """The logits W x + b of the F n-grams of a text.

    weight (C, F), bias (C,). idf (F,): x is (1 + log count) · idf with a norm of 1; None: x is 1 for what occurs.
    one_versus_rest: whether the probabilities are sigmoids of the logits, divided by their sum.
    """

    ngrams: Sequence[str]
    weight: np.ndarray
    bias: np.ndarray
    idf: np.ndarray | None
    one_versus_rest: bool

    @property
    def counter(self) -> CountVectorizer:
        return ngram_counter(1 + max(ngram.count(" ") for ngram in self.ngrams), vocabulary=self.ngrams)

    def features(self, counts: csr_matrix) -> csr_matrix:
        """(N, F) -> x, (N, F)."""
        if self.idf is None:
            return counts.sign()
        transformer = TfidfTransformer(sublinear_tf=True)
        transformer.idf_ = self.idf
        return transformer.transform(counts)

    def logits(self, counts: csr_matrix) -> np.ndarray:
        """(N, F) -> (N, C), of which the softmax gives the probabilities if each text has one class."""
        logits = self.features(counts) @ self.weight.T + self.bias
        return np.log(np.maximum(expit(logits), np.finfo(np.float64).tiny)) if self.one_versus_rest else logits

    def of_classes(self, classes: np.ndarray, count: int) -> "LinearWeights":
        """Return the weights over `count` classes, where these are only those of some, at these indices."""
        weight, bias = np.zeros((count, len(self.ngrams))), np.full(count, -np.inf)
        weight[classes], bias[classes] = self.weight, self.bias
        return self._replace(weight=weight, bias=bias)

    def save(self, folder: Path, name: str, problem_type: str, labels: Sequence[str], has_pairs: bool) -> None:
        """Write both files; the description is last, so that a folder with it is whole. name: of the model."""
        folder.mkdir(exist_ok=True)
        (folder / LINEAR_MODEL).unlink(missing_ok=True)
        arrays = {"weight": self.weight, "bias": self.bias} | ({} if self.idf is None else {"idf": self.idf})
        save_file({key: np.ascontiguousarray(value) for key, value in arrays.items()}, folder / LINEAR_WEIGHTS)
        about = {"name": name, "problem_type": problem_type, "labels": [*labels], "has_pairs": has_pairs}
        features = {"one_versus_rest": self.one_versus_rest, "ngrams": [*map(str, self.ngrams)]}
        write_json(folder / LINEAR_MODEL, {**about, **features})


@dataclass
class LinearClassifier(Classifier):
    """Classifies texts by a linear model. model: has a device and the configuration, with the names of the classes."""

    weights: LinearWeights = field(kw_only=True)
    has_pairs: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        self.counter, self.known = self.weights.counter, {*self.weights.ngrams}

    def read(self, texts: Sequence[str]) -> list[Job | None]:
        words = [dict.fromkeys(re.findall(WORD, text.lower())) for text in texts]
        return [Job(text, unseen=[word for word in own if word not in self.known]) for text, own in zip(texts, words)]

    def logits(self, features: list[str]) -> torch.Tensor:
        return torch.from_numpy(self.weights.logits(self.counter.transform(features))).float()


def load_linear(folder: str | Path) -> LinearClassifier:
    """Read what `LinearWeights.save` wrote. Raises `DataError` if it is damaged."""
    try:
        about = read_json(Path(folder, LINEAR_MODEL))
        arrays = load_file(Path(folder, LINEAR_WEIGHTS))
        labels, ngrams = ([str(name) for name in about[key]] for key in ("labels", "ngrams"))
        config = PreTrainedConfig(id2label=dict(enumerate(labels)), problem_type=about["problem_type"])
        weight, bias = arrays["weight"], arrays["bias"]
        weights = LinearWeights(ngrams, weight, bias, arrays.get("idf"), bool(about["one_versus_rest"]))
        has_pairs = bool(about["has_pairs"])
        model = SimpleNamespace(config=config, device=torch.device("cpu"))
        classifier = LinearClassifier(model, weights=weights, has_pairs=has_pairs)
        weights.logits(classifier.counter.transform([""]))
        are_numbers = all(np.isfinite(array).all() for name, array in arrays.items() if name != "bias")
        is_whole = labels and weight.shape == (len(labels), len(ngrams)) and bias.shape == (len(labels),)
        if not (is_whole and are_numbers and (bias < np.inf).all()):  # -inf: no text of train has this class
            raise ValueError
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, SafetensorError) as error:
        raise DataError(f"{folder}: not a linear model, or damaged: restore it, or train again") from error
    return classifier


def load_classifier(arguments: PredictArguments) -> Classifier:
    """Load a linear model if the folder holds one, or else a Transformer.

    Raises `DataError` if it is damaged, or cannot do what the arguments ask for.
    """
    if not is_linear(arguments.model):
        model, tokenizer = load_head(arguments, AutoModelForSequenceClassification, "not a trained text classifier")
        return Classifier(model, tokenizer, limit if (limit := tokenizer.model_max_length) < NO_LIMIT else None)
    name, classifier = f"--model {arguments.model}", load_linear(arguments.model)
    if arguments.max_length is not None or arguments.precision != "float32":
        raise DataError(f"{name}: a linear model, on which --max_length and --precision have no effect; remove them")
    if classifier.has_pairs != arguments.has_pairs:
        reads = "pairs of texts; name the columns of both" if classifier.has_pairs else "single texts; name one column"
        raise DataError(f"{name}: reads {reads} (--text_column)")
    return classifier
