# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which words mattered for an answer, by integrated gradients (Sundararajan et al. 2017).

x' to x along a line, (x - x') * mean gradient; their sum is the change of the score.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .answers import Target, score
from .recorder import as_textbook
from .subjects import Subject

LEAST_STEPS, MOST_STEPS = 32, 512
TOLERANCE = 0.01  # of the change of the score
SMALL = 0.01
MOST_LOGITS = 2**24  # of a batch


@dataclass
class Attributions:
    """The score and its value; what tokens (T,) and words, sums over tokens, add to it. `sum` is that of tokens.

    baseline: the score of padding in place of the text, of which the tokens explain nothing. difference: from value.
    """

    score: str
    value: float
    tokens: list[float]
    words: list[float] | None
    steps: int
    sum: float
    difference: float
    baseline: float


def attributions_of(subject: Subject, target: Target) -> Attributions:
    """Integrate from padding to the text; more steps until sum and difference are equal within `TOLERANCE`.

    The rows of the table of tokens are replaced, position by position; special tokens stay as they are.
    """
    with as_textbook(subject.model):
        start, end = _ends(subject)
        with torch.no_grad():
            baseline, value = (_scored(subject, target, each).item() for each in (start, end))
        difference, steps = value - baseline, LEAST_STEPS
        values = _integral(subject, target, start, end, steps)
        while steps < MOST_STEPS and not is_exact(values.sum().item(), difference):
            steps *= 2
            values = _integral(subject, target, start, end, steps)
    tokens = values.tolist()
    if not is_exact(sum(tokens), difference):
        found = f"in {steps} steps they add up to {sum(tokens):.4g} of {difference:.4g}"
        subject.notes.append(f"integrated gradients are not exact: {found}")
    if abs(difference) < abs(baseline):  # most of the score is that of padding
        padding = f"padding in place of the text has {baseline:.2f} already"
        subject.notes.append(f"integrated gradients explain {difference:.2f} of the score of {value:.2f}: {padding}")
    words = subject.text.per_word(tokens)
    return Attributions(target.score, value, tokens, words, steps, sum(tokens), difference, baseline)


def is_exact(total: float, difference: float) -> bool:
    """Return whether attributions add up to a change of the score; changes below `SMALL` count as that."""
    return abs(total - difference) <= TOLERANCE * max(abs(difference), SMALL)


def _ends(subject: Subject) -> tuple[Tensor, Tensor]:
    """The baseline, with the row of the padding token, or zeros, in place of each token, and the text: (1, T, E)."""
    table, pad = subject.model.get_input_embeddings(), subject.tokenizer.pad_token_id
    with torch.no_grad():
        end = table(subject.tensor([subject.text.ids]))
        row = torch.zeros_like(end[0, 0]) if pad is None else table(subject.tensor([pad]))[0]
    return torch.where(subject.tensor(subject.text.special)[None, :, None], end, row), end


def _scored(subject: Subject, target: Target, values: Tensor) -> Tensor:
    """The score of each row of embeddings (B, T, E)."""
    inputs = subject.batch(len(values))
    del inputs["input_ids"]
    return score(subject, subject.model(inputs_embeds=values, **inputs).logits.float(), target)


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


def rows_a_batch(subject: Subject) -> int:
    """Return how many rows have at most `MOST_LOGITS` logits, and at most 64."""
    length = max(len(subject.text.ids), len(subject.target_ids))
    vocabulary = max(subject.model.config.vocab_size, getattr(subject.model.config, "decoder_vocab_size", 0) or 0)
    return max(1, min(64, MOST_LOGITS // (length * vocabulary)))
