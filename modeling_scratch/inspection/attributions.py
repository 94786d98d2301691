# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which words mattered for an answer, by three methods.

Integrated gradients (Sundararajan et al. 2017): x' to x along a line, (x - x') * mean gradient; their sum is the change
of the score. Occlusion: the score without each word. Attention rollout (Abnar and Zuidema 2020): the product over the
layers of (A + I) / 2, A the mean over heads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .answers import Target, rows_a_batch, score, scores
from .deletion import only
from .recorder import Recording, as_textbook
from .subjects import Subject

LEAST_STEPS, MOST_STEPS = 32, 512
TOLERANCE = 0.01  # of the change of the score
SMALL = 0.01


@dataclass
class IntegratedGradients:
    """tokens (T,), words: sums over tokens. `sum` is that of tokens, `difference` = score - score of the baseline."""

    tokens: list[float]
    words: list[float] | None
    steps: int
    sum: float
    difference: float
    baseline: str


def integrated_gradients(subject: Subject, target: Target) -> IntegratedGradients:
    """Integrate from padding to the text; more steps until sum and difference are equal within `TOLERANCE`.

    The rows of the table of tokens are replaced, position by position; special tokens stay as they are.
    """
    with as_textbook(subject.model):
        start, end = _ends(subject)
        difference = _score_at(subject, target, end) - _score_at(subject, target, start)
        steps = LEAST_STEPS
        while True:
            values = _integral(subject, target, start, end, steps)
            if is_exact(values.sum().item(), difference) or steps >= MOST_STEPS:
                break
            steps *= 2
    tokens, pad = values.tolist(), subject.tokenizer.pad_token
    baseline = "zeros" if pad is None else f"{pad}, special tokens kept"
    return IntegratedGradients(tokens, subject.text.per_word(tokens), steps, sum(tokens), difference, baseline)


def is_exact(total: float, difference: float) -> bool:
    """Return whether attributions add up to a change of the score; changes below `SMALL` count as that."""
    return abs(total - difference) <= TOLERANCE * max(abs(difference), SMALL)


def _table(model: Any) -> nn.Module:
    """The table that a text is looked up in, of the encoder of an encoder-decoder."""
    base = model.base_model
    return (base.encoder if hasattr(base, "encoder") else base).embeddings.tokens


@contextmanager
def _replaced(table: nn.Module, value: Tensor) -> Iterator[None]:
    """A table that gives this value, at its first call: a decoder may share it."""

    def replace(*_: Any) -> Tensor:
        handle.remove()
        return value

    handle = table.register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()


def _ends(subject: Subject) -> tuple[Tensor, Tensor]:
    """The baseline, with the row of the padding token, or zeros, in place of each token, and the text: (1, T, E)."""
    table, pad = _table(subject.model), subject.tokenizer.pad_token_id
    with torch.no_grad():
        end = table(subject.inputs["input_ids"])
        row = torch.zeros_like(end[0, 0]) if pad is None else table(subject.tensor([pad]))[0]
    return torch.where(subject.tensor(subject.text.special)[None, :, None], end, row), end


def _scored(subject: Subject, target: Target, values: Tensor) -> Tensor:
    rows = len(values)
    with _replaced(_table(subject.model), values):
        logits = subject.model(**subject.batch([subject.text] * rows)).logits.float()
    return score(subject, logits, target, [target.position] * rows)


def _score_at(subject: Subject, target: Target, values: Tensor) -> float:
    with torch.no_grad():
        return _scored(subject, target, values).item()


def _integral(subject: Subject, target: Target, start: Tensor, end: Tensor, steps: int) -> Tensor:
    """(x - x') * mean gradient, by the midpoint rule, summed over features: (T,)."""
    total = torch.zeros(end.shape[1], device=end.device, dtype=torch.float64)
    middles = (torch.arange(steps, device=total.device) + 0.5) / steps
    for part in middles.split(rows_a_batch(subject)):
        points = (start + part[:, None, None].to(end.dtype) * (end - start)).requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(_scored(subject, target, points).sum(), points, materialize_grads=True)
        total += ((end - start)[0] * gradient.sum(0)).sum(-1).double()
    return total / steps


def occlusion(subject: Subject, target: Target) -> dict[str, Any]:
    """Return the text's score, and that less the score without each word.

    None where nothing is left to read, or the explained word is gone.
    """
    every = range(len(subject.text.words))
    kept = [list(every), *([each for each in every if each != gone] for gone in every)]
    value, *others = scores(subject, target, [(only(subject, each), each) for each in kept])
    changes = [None if value is None or other is None else value - other for other in others]
    return {"value": value, "words": changes}


def rollout(subject: Subject, recording: Recording, target: Target) -> dict[str, Any]:
    """Return what share of each token the answer reads, and the matrix (T, T), rows sum to 1.

    In an encoder-decoder, the decoder's mean cross-attention reads the encoder's rollout: (target, T).
    """
    weights = {module.path: recording.keys[f"{module.path}.weights"].tensor[0].double()
               for module in recording.modules if f"{module.path}.weights" in recording.keys
               and module.name == "Attention"}  # fmt: skip
    cross = [each.mean(0) for path, each in weights.items() if path.endswith("cross_attention")]
    own = [each for path, each in weights.items() if not cross or ".encoder." in f".{path}"]
    matrix = torch.eye(len(subject.text.ids), dtype=torch.float64)
    for each in own:
        mixed = each.mean(0).cpu() + torch.eye(len(matrix), dtype=torch.float64)
        matrix = (mixed / mixed.sum(-1, keepdim=True)) @ matrix
    if cross:
        matrix = torch.stack(cross).mean(0).cpu() @ matrix
    tokens = read_rows(subject, matrix, target).tolist()
    return {"tokens": tokens, "words": subject.text.per_word(tokens) if weights else None, "matrix": matrix.float()}


def read_rows(subject: Subject, matrix: Tensor, target: Target) -> Tensor:
    """The rows of the tokens that the head reads, their mean."""
    if target.position is not None:
        return matrix[target.position]
    pooling = "last" if hasattr(subject.model, "score") else getattr(subject.model.config, "classifier_pooling", "mean")
    return {"first": matrix[0], "last": matrix[-1]}.get(pooling, matrix.mean(0))
