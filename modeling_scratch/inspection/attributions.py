# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which words mattered for an answer, by integrated gradients (Sundararajan et al. 2017).

x' to x along a line, (x - x') * mean gradient; their sum is the change of the score. A score is the log-odds
log(p / (1 - p)) of the label or of the token at one position, the mean log-probability of the tokens of a whole target,
or the number of a regression. Probabilities of sure answers hardly change with a word.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..inference.answers import explained, log_odds, names_of
from .recorder import as_textbook
from .subjects import EMBEDDING, GENERATION, NEXT, REGRESSION, SPAN, TAGGING, TEXT_TASKS, Subject

LEAST_STEPS, MOST_STEPS = 32, 512
TOLERANCE = 0.01  # of the change of the score
SMALL = 0.01
MOST_LOGITS = 2**24  # of a batch
OUTSIDE = "O"  # the label of tokens that are no name
LOG_ODDS = "log-odds of"


@dataclass(frozen=True)
class Target:
    """What is explained: entry `index` of the logits, at a position where there is a row of them a token."""

    score: str
    index: int = 0
    position: int | None = None


def target_of(subject: Subject, output: Any) -> Target | None:
    """Return what is explained of a recorded output; None for a model whose answer is no single one."""
    if subject.task in (SPAN, EMBEDDING):
        return None
    if subject.task == GENERATION:
        return Target("mean log-probability of the output's tokens")
    logits, names = output.logits[0].float(), names_of(subject.model.config)
    if subject.task == REGRESSION:
        return Target(f"number of {names[0]}")
    if subject.task in TEXT_TASKS:
        best = int(logits.argmax())
        return Target(f"{LOG_ODDS} {names[best]}", best)
    if subject.task == TAGGING and len(names) < 2:  # one label has no odds
        return None
    if subject.task == TAGGING:  # the surest label that is no `OUTSIDE`, of a token of the text
        p, labels = (each.tolist() for each in logits.softmax(-1).max(-1))
        real = [number for number, added in enumerate(subject.text.special) if not added] or [0]
        focus = max(real, key=lambda number: (names[labels[number]] != OUTSIDE, p[number]))
        return Target(f"{LOG_ODDS} {names[labels[focus]]} at token {focus + 1}", labels[focus], focus)
    position = len(logits) - 1 if subject.task == NEXT else subject.masked_positions()[0]
    best = int(logits[position].argmax())
    tokenizer, place = subject.tokenizer, " as the next token" if subject.task == NEXT else ""
    # A token's text, its name where it has no text of its own, or its id where the tokenizer lacks it.
    shown = tokenizer.decode([best]) or tokenizer.convert_ids_to_tokens(best) or best
    return Target(f"{LOG_ODDS} {shown}{place}", best, position)


def score(subject: Subject, logits: Tensor, target: Target) -> Tensor:
    """Return the target's score in each row of logits, (B, C) or (B, T, V) -> (B,), differentiable."""
    if subject.task in TEXT_TASKS:
        return explained(logits, target.index, subject.model.config)
    if subject.task == GENERATION:
        labels = subject.tensor(subject.target_ids).expand(len(logits), -1)
        return logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0].mean(-1)
    return log_odds(logits[:, target.position], subject.tensor([target.index] * len(logits)))


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

    The rows of the table of tokens are replaced by that of the padding token, or zeros where there is none; special
    tokens stay as they are.
    """
    with as_textbook(subject.model):
        table, pad = subject.model.get_input_embeddings(), subject.tokenizer.pad_token_id
        with torch.no_grad():
            end = table(subject.tensor([subject.text.ids]))  # (1, T, E)
            row = torch.zeros_like(end[0, 0]) if pad is None else table(subject.tensor([pad]))[0]
            start = torch.where(subject.tensor(subject.text.special)[None, :, None], end, row)
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


def _scored(subject: Subject, target: Target, values: Tensor) -> Tensor:
    """The score of each row of embeddings (B, T, E)."""
    inputs = subject.batch(len(values))
    del inputs["input_ids"]
    return score(subject, subject.model(inputs_embeds=values, **inputs).logits.float(), target)


def _integral(subject: Subject, target: Target, start: Tensor, end: Tensor, steps: int) -> Tensor:
    """(x - x') * mean gradient, by the midpoint rule, summed over features: (T,)."""
    total = torch.zeros(end.shape[1], device=end.device, dtype=torch.float64)
    middles = (torch.arange(steps, device=total.device) + 0.5) / steps
    length, config = max(len(subject.text.ids), len(subject.target_ids)), subject.model.config
    vocabulary = max(config.vocab_size, getattr(config, "decoder_vocab_size", 0) or 0)
    for part in middles.split(max(1, min(64, MOST_LOGITS // (length * vocabulary)))):
        points = (start + part[:, None, None].to(end.dtype) * (end - start)).requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(_scored(subject, target, points).sum(), points, materialize_grads=True)
        total += ((end - start)[0] * gradient.sum(0)).sum(-1).double()
    return total / steps
