# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is explained of a model's answer: its score, the number whose change explanations attribute to words.

A score is the log-odds log(p / (1 - p)) of the label or of the token at one position, the mean log-probability of the
tokens of a whole target, or the number of a regression. Probabilities of sure answers hardly change with a word.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..inference.answers import explained, log_odds, names_of
from .subjects import EMBEDDING, GENERATION, NEXT, REGRESSION, SPAN, TAGGING, TEXT_TASKS, Subject

OUTSIDE = "O"  # the label of tokens that are no name
LOG_ODDS, MEAN_LOG, NUMBER = "log-odds", "mean log-probability", "number"


@dataclass(frozen=True)
class Target:
    """What is explained: entry `index` of the logits, at a position where there is a row of them a token."""

    unit: str
    what: str
    index: int = 0
    position: int | None = None

    @property
    def score(self) -> str:
        return f"{self.unit} of {self.what}"


def target_of(subject: Subject, output: Any) -> Target | None:
    """Return what is explained of a recorded output; None for a model whose answer is no single one."""
    if subject.task in (SPAN, EMBEDDING):
        return None
    if subject.task == GENERATION:
        return Target(MEAN_LOG, "the output's tokens")
    logits, names = output.logits[0].float(), names_of(subject.model.config)
    if subject.task == REGRESSION:
        return Target(NUMBER, names[0])
    if subject.task in TEXT_TASKS:
        best = int(logits.argmax())
        return Target(LOG_ODDS, names[best], best)
    if subject.task == TAGGING:
        return _tag(subject, logits, names) if len(names) > 1 else None  # one label has no odds
    position = len(logits) - 1 if subject.task == NEXT else subject.masked_positions()[0]
    best = int(logits[position].argmax())
    place = " as the next token" if subject.task == NEXT else ""
    return Target(LOG_ODDS, f"{shown(subject.tokenizer, best)}{place}", best, position)


def _tag(subject: Subject, logits: Tensor, names: list[str]) -> Target:
    """The surest label that is no `OUTSIDE`, of a token of the text."""
    p, best = (each.tolist() for each in logits.softmax(-1).max(-1))
    real = [number for number, added in enumerate(subject.text.special) if not added] or [0]
    focus = max(real, key=lambda number: (names[best[number]] != OUTSIDE, p[number]))
    return Target(LOG_ODDS, f"{names[best[focus]]} at token {focus + 1}", best[focus], focus)


def shown(tokenizer: Any, token: int) -> str:
    """Return a token's text, its name where it has no text of its own, or its id where the tokenizer lacks it."""
    return str(tokenizer.decode([token]) or tokenizer.convert_ids_to_tokens(token) or token)


def score(subject: Subject, logits: Tensor, target: Target) -> Tensor:
    """Return the target's score in each row of logits, (B, C) or (B, T, V) -> (B,), differentiable."""
    if subject.task in TEXT_TASKS:
        return explained(logits, target.index, subject.model.config)
    if subject.task == GENERATION:
        labels = subject.tensor(subject.target_ids).expand(len(logits), -1)
        return logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0].mean(-1)
    return log_odds(logits[:, target.position], subject.tensor([target.index] * len(logits)))
