# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which words mattered for an answer, by two methods.

Integrated gradients (Sundararajan et al. 2017): x' to x along a line, (x - x') * mean gradient; their sum is the change
of the score. Occlusion: the score without each word.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .answers import Target, score
from .occlusion import deletion, occlusion, rows_a_batch, scores_of_answer
from .recorder import as_textbook
from .subjects import Subject

LEAST_STEPS, MOST_STEPS = 32, 512
TOLERANCE = 0.01  # of the change of the score
SMALL = 0.01


def attributions_of(subject: Subject, target: Target) -> dict[str, Any]:
    """Return the attributions of the answer's score to the words, and the deletion test of each."""
    gradients = integrated_gradients(subject, target)
    if not is_exact(gradients.sum, gradients.difference):
        found = f"in {gradients.steps} steps they add up to {gradients.sum:.4g} of {gradients.difference:.4g}"
        subject.notes.append(f"integrated gradients are not exact: {found}")
    if abs(gradients.difference) < abs(gradients.baseline):  # most of the score is that of padding
        part, whole = gradients.difference, gradients.baseline + gradients.difference
        padding = f"padding in place of the text has {gradients.baseline:.2f} already"
        subject.notes.append(f"integrated gradients explain {part:.2f} of the score of {whole:.2f}: {padding}")
    scores = scores_of_answer(subject, target)
    whole, (without,) = occlusion(scores)
    (value,) = whole
    methods = {"integrated_gradients": gradients.words, "occlusion": without}
    usable = {name: values for name, values in methods.items() if values}
    return {
        "score": target.score,
        "value": value,
        "p": target.probability(value),
        "integrated_gradients": gradients,
        "occlusion": {"words": without},
        "deletion": deletion(scores, target, usable),
    }


@dataclass
class IntegratedGradients:
    """tokens (T,), words: sums over tokens. `sum` is that of tokens, `difference` = score - baseline.

    baseline: the score of padding in place of the text, of which the tokens explain nothing.
    """

    tokens: list[float]
    words: list[float] | None
    steps: int
    sum: float
    difference: float
    baseline: float


def integrated_gradients(subject: Subject, target: Target) -> IntegratedGradients:
    """Integrate from padding to the text; more steps until sum and difference are equal within `TOLERANCE`.

    The rows of the table of tokens are replaced, position by position; special tokens stay as they are.
    """
    with as_textbook(subject.model):
        start, end = _ends(subject)
        with torch.no_grad():
            baseline = _scored(subject, target, start).item()
            difference = _scored(subject, target, end).item() - baseline
        steps = LEAST_STEPS
        values = _integral(subject, target, start, end, steps)
        while steps < MOST_STEPS and not is_exact(values.sum().item(), difference):
            steps *= 2
            values = _integral(subject, target, start, end, steps)
    tokens = values.tolist()
    return IntegratedGradients(tokens, subject.text.per_word(tokens), steps, sum(tokens), difference, baseline)


def is_exact(total: float, difference: float) -> bool:
    """Return whether attributions add up to a change of the score; changes below `SMALL` count as that."""
    return abs(total - difference) <= TOLERANCE * max(abs(difference), SMALL)


def _ends(subject: Subject) -> tuple[Tensor, Tensor]:
    """The baseline, with the row of the padding token, or zeros, in place of each token, and the text: (1, T, E)."""
    table, pad = subject.model.get_input_embeddings(), subject.tokenizer.pad_token_id
    with torch.no_grad():
        end = table(subject.inputs["input_ids"])
        row = torch.zeros_like(end[0, 0]) if pad is None else table(subject.tensor([pad]))[0]
    return torch.where(subject.tensor(subject.text.special)[None, :, None], end, row), end


def _scored(subject: Subject, target: Target, values: Tensor) -> Tensor:
    """The score of each row of embeddings (B, T, E)."""
    inputs = subject.batch([subject.text] * len(values))
    del inputs["input_ids"]
    logits = subject.model(inputs_embeds=values, **inputs).logits.float()
    return score(subject, logits, target, [target.position] * len(values))


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
