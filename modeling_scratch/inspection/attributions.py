# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which words mattered for an answer, by two methods.

Integrated gradients (Sundararajan et al. 2017): x' to x along a line, (x - x') * mean gradient; their sum is the change
of the score. Occlusion: the score - the score without each word.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data.text_pairs import of_parts, parts_of
from .answers import Target, score
from .recorder import as_textbook
from .subjects import MASKED, TAGGING, Subject, starts

LEAST_STEPS, MOST_STEPS = 32, 512
TOLERANCE = 0.01  # of the change of the score
SMALL = 0.01
MOST_LOGITS = 2**24  # of a batch


def attributions_of(subject: Subject, target: Target) -> dict[str, Any]:
    """Return the attributions of the answer's score to the words."""
    gradients = integrated_gradients(subject, target)
    part, whole = gradients.difference, gradients.baseline + gradients.difference
    if not is_exact(gradients.sum, part):
        found = f"in {gradients.steps} steps they add up to {gradients.sum:.4g} of {part:.4g}"
        subject.notes.append(f"integrated gradients are not exact: {found}")
    if abs(part) < abs(gradients.baseline):  # most of the score is that of padding
        padding = f"padding in place of the text has {gradients.baseline:.2f} already"
        subject.notes.append(f"integrated gradients explain {part:.2f} of the score of {whole:.2f}: {padding}")
    value, without = occlusion(subject, target)
    return {
        "score": target.score,
        "value": value,
        "integrated_gradients": gradients,
        "occlusion": {"words": without},
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


@torch.no_grad()
def occlusion(subject: Subject, target: Target) -> tuple[float, list[float | None] | None]:
    """Return the score of the text, and what it loses without each word; None: nothing is left to read.

    Of a tagger or a masked LM the score alone: without a word, the explained token stands elsewhere or is gone.
    """
    words = [] if subject.task in (TAGGING, MASKED) else range(len(subject.text.words))
    variants = [subject.text, *(subject.encode(_without(subject, gone)) for gone in words)]
    read = [each for each in variants if each.ids]
    found: list[float] = []
    for start in range(0, len(read), size := rows_a_batch(subject)):
        rows = read[start : start + size]
        logits = subject.model(**subject.batch(rows)).logits.float()
        found += score(subject, logits, target, [target.position] * len(rows)).tolist()
    values = iter(found)
    whole = next(values)
    changes = [whole - next(values) if each.ids else None for each in variants[1:]]
    return whole, changes if words else None


def rows_a_batch(subject: Subject) -> int:
    """Return how many rows have at most `MOST_LOGITS` logits, and at most 64."""
    length = max(len(subject.text.ids), len(subject.target_ids))
    vocabulary = max(subject.model.config.vocab_size, getattr(subject.model.config, "decoder_vocab_size", 0) or 0)
    return max(1, min(64, MOST_LOGITS // (length * vocabulary)))


def _without(subject: Subject, gone: int) -> str:
    """Return the text or pair without one of its words and the spaces behind it."""
    text, word = subject.text.text, subject.text.words[gone]
    parts, begin = list(parts_of(text)), starts(text)[word.part]
    whole = parts[word.part]
    parts[word.part] = whole[: word.start - begin] + whole[word.end - begin :].lstrip()
    return of_parts([part.strip() for part in parts])
