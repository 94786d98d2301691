# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A linear model inside an encoder: what counting words knows, in a few coordinates of the embeddings.

z = a f(x) + b S(x) + β, with S_c(x) = 1/T Σ_t v_c[token t] + v_c[pair at t] + v_c[triple at t]

f is the trained encoder, and v the weights of a logistic regression on the same texts, scaled by log-count ratios as in
NB-SVM (Wang and Manning 2012), without its intercept: f and β know how frequent a class is. Each learns alone, as a
model that starts with v learns little else. Blocks neither read nor write these coordinates, so that mean pooling
returns S. Models whose deep and linear parts learn together are those of Cheng et al. 2016 ("wide and deep").

Shapes: N texts, C classes, F features (tokens, and n-grams with an embedding).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..data.ngrams import count_features
from ..evaluation.baselines import LogCountRatio
from ..evaluation.classification_metrics import f1_averages
from ..evaluation.linear_part import LinearPart
from ..modeling_encoder import ScratchEncoderForSequenceClassification
from ..utils.markdown import percent
from .class_weights import ClassWeights
from .temperature import logits_of, restored

LINEAR_PART = (
    "Add a linear model of tokens and n-grams, trained on the same texts, to the trained model, as coordinates of its "
    "embeddings. Requires mean pooling of a stream without norms of its own (norm_position=pre, final_norm=false)."
)
MOST_COORDINATES = 1 / 4  # of the hidden size
C_GRID = (0.01, 0.03, 0.1, 0.3, 1.0)  # 1 / strength of the L2 penalty
USUAL_C = 0.1  # if validation may not choose
SIZE = 0.1  # of the weights in the embeddings, relative to the other coordinates: small, so that norms hardly change
MOST_UNEVEN = 1 / 10  # the spread of the tokens' weights that SIZE is of, relative to that of the n-grams, at least
PRIOR = 5.0  # the strength of the penalty: outweighed by some dozens of validation texts


def obstacle(model: Any) -> str | None:
    """Return why this model cannot have a linear part, if so."""
    if not isinstance(model, ScratchEncoderForSequenceClassification):
        return "it is for encoders of this package"
    config, embeddings = model.config, model.model.embeddings
    if config.problem_type not in (None, "single_label_classification") or config.num_labels < 2:
        return "it is for texts of one class each"
    if config.num_labels > MOST_COORDINATES * config.hidden_size:
        return f"{config.num_labels} classes are too many coordinates of {config.hidden_size}"
    added = embeddings.positions, embeddings.sinusoid, embeddings.token_types
    changed = embeddings.norm, embeddings.projection, model.model.stack.norm
    is_plain = all(each is None for each in added) and all(isinstance(each, nn.Identity) for each in changed)
    reads_it = config.classifier_pooling == "mean" and model.classifier.dense is None
    if config.norm_position != "pre" or not (is_plain and reads_it):
        return "mean pooling does not return what the embeddings have (norm_position=pre, final_norm=false)"
    if not config.first_norm:
        return "the first block reads the embeddings without a norm (first_norm=true)"
    return None


class ReservedCoordinates(TrainerCallback):
    """Keep the last C coordinates of the hidden states at 0 while the model is trained, and no block reads them.

    fits: whether validation may choose the linear part, because the report is about another split; or else both parts
    have the same share. metric: the score on validation that it must not lower, accuracy or f1_macro.
    """

    def __init__(self, model: Any, fits: bool = True, metric: str = "accuracy") -> None:
        self.fits, self.metric = fits, metric
        self.chosen = slice(model.config.hidden_size - model.config.num_labels, model.config.hidden_size)
        self.clear(model)

    @torch.no_grad()
    def clear(self, model: Any) -> None:
        for weight, axis in self.of(model):
            self._zero(weight, axis)

    def of(self, model: Any) -> Iterator[tuple[nn.Parameter, int]]:
        """Yield the parameters that read or write the coordinates, with the axis that these are of."""
        base = model.model
        yield base.embeddings.tokens.weight, 1
        if base.embeddings.ngrams is not None:
            yield base.embeddings.ngrams.table.weight, 1
        for layer in base.stack.layers:
            for linear in (layer.attention.o_proj, layer.feed_forward.down_proj):
                yield from ((weight, 0) for weight in linear.parameters())
            for residual in filter(None, (layer.attention_residual, layer.feed_forward_residual)):
                yield from ((weight, 0) for weight in residual.norm.parameters())
        yield model.classifier.out_proj.weight, 1

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        for weight, axis in self.of(kwargs["model"]):
            if weight.grad is None:
                continue
            if weight.grad.is_sparse:
                weight.grad = weight.grad.coalesce()
            self._zero(weight.grad.values() if weight.grad.is_sparse else weight.grad, axis)

    def _zero(self, values: Tensor, axis: int) -> None:
        values.narrow(axis, self.chosen.start, self.chosen.stop - self.chosen.start).zero_()


@dataclass(frozen=True)
class Mixture:
    """z = a f + b S + β. bias (C,): β. share: b / (a + b), for parts of the same spread. loss: of the fit."""

    deep: float
    linear: float
    bias: np.ndarray
    share: float
    loss: float

    def of(self, deep: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """z (N, C) of f and S."""
        return self.deep * deep + self.linear * linear + self.bias


def add_linear_part(trainer: ClassWeights, reserved: ReservedCoordinates) -> LinearPart:
    """Train the linear model on the trainer's train split, and add it in the proportion that validation prefers.

    It is left out if the score on validation would be lower with it.
    """
    begun = perf_counter()
    model: Any = trainer.model
    train: Any = trainer.train_dataset
    held_out: Any = trainer.eval_dataset
    labels, fits = np.asarray(held_out["label"]), reserved.fits
    class_weights = None if trainer.class_weights is None else trainer.class_weights.cpu().numpy()
    deep = logits_of(trainer, held_out)
    if not np.isfinite(deep).all():
        return LinearPart(obstacle="some logits of the validation split are not finite")
    features = counts_of(model, train["input_ids"])
    candidates = fit(features, classes_of(train), deep.shape[1], C_GRID if fits else (USUAL_C,), class_weights)
    c = best_c(candidates, model, held_out["input_ids"], deep, labels, class_weights) if fits else USUAL_C
    write(model, reserved.chosen, candidates[c])
    deep = logits_of(trainer, held_out)
    with restored(trainer, model.classifier.out_proj):
        read_alone(model, reserved.chosen)  # a difference of logits would lose S to lower precision
        linear = logits_of(trainer, held_out)
    mixture = mix(deep, linear, labels if fits else None, class_weights)
    name = "macro F1" if reserved.metric == "f1_macro" else "accuracy"
    before, expected = (score(logits, labels, reserved.metric) for logits in (deep, mixture.of(deep, linear)))
    if fits and expected < before:
        reserved.clear(model)
        reason = f"with one, {name} on validation is {percent(expected)} instead of {percent(before)}"
        return LinearPart(obstacle=reason)
    apply(model, reserved.chosen, mixture)
    after = score(logits_of(trainer, held_out), labels, reserved.metric)
    texts, columns = features.shape
    minutes = (perf_counter() - begun) / 60
    return LinearPart(texts, columns, c, mixture.share, before, after, minutes, is_fitted=fits, metric=name)


def best_c(
    candidates: Mapping[float, np.ndarray],
    model: Any,
    texts: Any,
    deep: np.ndarray,
    labels: np.ndarray,
    class_weights: np.ndarray | None = None,
) -> float:
    """Return the C whose weights (C, F) mix best with the logits of the encoder. texts: their token ids."""
    features, lengths = counts_of(model, texts), np.array([max(1, len(text)) for text in texts])[:, None]  # (N, 1)
    logits = {c: features @ weights.T / lengths for c, weights in candidates.items()}
    return min(candidates, key=lambda c: mix(deep, logits[c], labels, class_weights).loss)


def counts_of(model: Any, texts: Any) -> csr_matrix:
    ngrams = model.model.embeddings.ngrams
    keys = np.empty(0, np.int64) if ngrams is None else ngrams.keys.cpu().numpy()
    return count_features(texts, model.config.vocab_size, keys)


def classes_of(rows: Dataset) -> np.ndarray:
    """Return the classes (N,) of encoded texts, the likeliest ones of probabilities."""
    labels = np.asarray(rows["label"])
    return labels if labels.ndim == 1 else labels.argmax(-1)


def fit(
    features: csr_matrix,
    labels: np.ndarray,
    classes: int,
    grid: Sequence[float],
    class_weights: np.ndarray | None = None,
) -> dict[float, np.ndarray]:
    """Return the weights (C, F) for each strength of the penalty, 1 / its value in the grid.

    They add up to 0 over the classes. A class without texts has none of its own. class_weights (C,): of a text.
    """
    of_texts = None if class_weights is None else class_weights[labels]
    weights = {c: np.zeros((classes, features.shape[1])) for c in grid}
    presence = features.sign()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for one in range(classes) if classes > 2 else (1,):
            if 0 < (is_one := labels == one).sum() < len(labels):
                ratio = LogCountRatio().fit(presence, is_one)
                scaled = ratio.transform(features)
                for c in grid:
                    model = LogisticRegression(C=c, max_iter=300).fit(scaled, is_one, of_texts)
                    weights[c][one] = model.coef_[0] * ratio.ratio_
    return {c: of_c - of_c.mean(0) for c, of_c in weights.items()}


def score(logits: np.ndarray, labels: np.ndarray, metric: str) -> float:
    """Return the accuracy or f1_macro of the likeliest classes."""
    return f1_averages(labels, logits.argmax(-1))["f1_macro" if metric == "f1_macro" else "f1_micro"]


def spread(logits: np.ndarray) -> float:
    """The standard deviation of logits (N, C), whose mean over the classes does not count; 1 if they are all 0."""
    return float((logits - logits.mean(-1, keepdims=True)).std()) or 1.0


def mix(
    deep: np.ndarray, linear: np.ndarray, labels: np.ndarray | None, class_weights: np.ndarray | None = None
) -> Mixture:
    """argmin of Σ -w log softmax(a f + b S + β)[label], with a, b >= 0 and a penalty on what few texts cannot tell.

    deep, linear (N, C) of f and S; labels (N,). Without labels, both parts have a spread of 1, and β is 0.
    w: the class_weights (C,) of the labels, with a mean of 1, if there are any. β is 0 then, too: it would apply them a
    second time.
    """
    sizes = spread(deep), spread(linear)
    f, s = ((part - part.mean(-1, keepdims=True)) / size for part, size in zip((deep, linear), sizes))
    start = np.array([1.0, 1.0, *np.zeros(deep.shape[1])])
    if labels is None:
        return Mixture(1 / sizes[0], 1 / sizes[1], start[2:], 0.5, 0.0)
    rows = np.arange(len(labels))
    weights = np.ones(len(labels)) if class_weights is None else class_weights[labels]
    weights = weights / weights.mean()

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        log_probabilities = log_softmax(point[0] * f + point[1] * s + point[2:], -1)
        slope = np.exp(log_probabilities)
        slope[rows, labels] -= 1
        slope *= weights[:, None]
        away = point - start
        slopes = np.array([(slope * f).sum(), (slope * s).sum(), *slope.sum(0)])
        return float(PRIOR / 2 * away @ away - weights @ log_probabilities[rows, labels]), slopes + PRIOR * away

    bounds = [(0, None)] * 2 + [(None, None) if class_weights is None else (0, 0)] * deep.shape[1]
    a, b, *bias = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    share = float(b / (a + b)) if a + b else 0.0
    mixed = -weights @ log_softmax(a * f + b * s + bias, -1)[rows, labels] / len(labels)
    return Mixture(float(a) / sizes[0], float(b) / sizes[1], np.array(bias), share, float(mixed))


@torch.no_grad()
def write(model: Any, chosen: slice, weights: np.ndarray) -> None:
    """Write the weights (C, F) to the coordinates of the embeddings, so small that norms hardly change."""
    embeddings = model.model.embeddings
    tokens = embeddings.tokens.weight
    values = torch.from_numpy(weights.T).to(tokens)
    parts = values[: len(tokens)].std(), values[len(tokens) :].std() if len(values) > len(tokens) else 0.0
    if (widest := max(parts[0], MOST_UNEVEN * parts[1])) > 0:  # no token tells, where word order decides
        values *= SIZE * tokens.std() / widest
    tokens[:, chosen] = values[: len(tokens)]
    if embeddings.ngrams is not None:
        embeddings.ngrams.table.weight[1:, chosen] = values[len(tokens) :]
    for name, weight in model.classifier.norm.named_parameters():
        weight[chosen] = 1.0 if name == "weight" else 0.0


@torch.no_grad()
def read(model: Any, chosen: slice, factor: float = 1.0) -> None:
    """Let the last layer read the coordinates, without their mean, which a norm before it may have shifted."""
    weight = model.classifier.out_proj.weight
    count = chosen.stop - chosen.start
    weight[:, chosen] = factor * (torch.eye(count) - 1 / count).to(weight)


@torch.no_grad()
def read_alone(model: Any, chosen: slice) -> None:
    """Let the logits be those of the coordinates."""
    for weight in model.classifier.out_proj.parameters():
        weight.zero_()
    read(model, chosen)


@torch.no_grad()
def apply(model: Any, chosen: slice, mixture: Mixture) -> None:
    """Scale what the last layer reads."""
    out = model.classifier.out_proj
    out.weight *= mixture.deep
    out.bias.mul_(mixture.deep).add_(torch.from_numpy(mixture.bias).to(out.bias))
    read(model, chosen, mixture.linear)
