# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is explained of a model's answer: its score, the number whose change explanations attribute to words.

A score is the log-odds log(p / (1 - p)) of the label or of the token at one position, the mean log-probability of the
tokens of a whole target, or the number of a regression. Probabilities of sure answers hardly change with a word.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..inference.answers import explained, log_odds, names_of
from .subjects import EMBEDDING, GENERATION, NEXT, REGRESSION, SPAN, TAGGING, TEXT_TASKS, Subject

OUTSIDE = "O"  # the label of tokens that are no name
LOG_ODDS, MEAN_LOG = "log-odds", "mean log-probability"


@dataclass(frozen=True)
class Target:
    """What is explained: entry `index` of the logits, at a position where there is a row of them a token.

    score: its description; unit: log-odds, mean log-probability or number.
    """

    score: str
    index: int = 0
    position: int | None = None

    @property
    def unit(self) -> str:
        return self.score.partition(" of ")[0]

    def probability(self, score: float) -> float:
        """Return the probability that a score stands for; a number stays as it is."""
        if self.unit == LOG_ODDS:
            return 1 / (1 + math.exp(-score)) if score > -500 else 0.0
        return math.exp(score) if self.unit == MEAN_LOG else score


def target_of(subject: Subject, output: Any) -> Target | None:
    """Return what is explained of a recorded output; None for a model whose answer is no single one."""
    if subject.task in (SPAN, EMBEDDING):
        return None
    if subject.task == GENERATION:
        return Target(f"{MEAN_LOG} of the output's tokens")
    logits = output.logits[0].float()
    if subject.task in TEXT_TASKS:
        best = 0 if subject.task == REGRESSION else int(logits.argmax())
        unit = "number" if subject.task == REGRESSION else LOG_ODDS
        return Target(f"{unit} of {names_of(subject.model.config)[best]}", best)
    if subject.task == TAGGING:
        return _tag(subject, logits)
    position = len(logits) - 1 if subject.task == NEXT else subject.masked_positions(subject.text.ids)[0]
    best = int(logits[position].argmax())
    place = " as the next token" if subject.task == NEXT else ""
    return Target(f"{LOG_ODDS} of {shown(subject.tokenizer, best)}{place}", best, position)


def _tag(subject: Subject, logits: Tensor) -> Target | None:
    """The surest label that is no `OUTSIDE`, of a token of the text; one label has no odds."""
    names = names_of(subject.model.config)
    if len(names) < 2:
        return None
    p, best = (each.tolist() for each in logits.softmax(-1).max(-1))
    real = [number for number, added in enumerate(subject.text.special) if not added] or [0]
    focus = max(real, key=lambda number: (names[best[number]] != OUTSIDE, p[number]))
    return Target(f"{LOG_ODDS} of {names[best[focus]]} at token {focus + 1}", best[focus], focus)


def shown(tokenizer: Any, token: int) -> str:
    """Return a token's text, its name where it has no text of its own, or its id where the tokenizer lacks it."""
    return str(tokenizer.decode([token]) or tokenizer.convert_ids_to_tokens(token) or token)


def score(subject: Subject, logits: Tensor, target: Target, positions: Sequence[int | None]) -> Tensor:
    """Return the target's score in each row of logits, (B, C) or (B, T, V) -> (B,), differentiable."""
    if subject.task in TEXT_TASKS:
        return explained(logits, target.index, subject.model.config)
    if subject.task == GENERATION:
        labels = subject.tensor(subject.target_ids).expand(len(logits), -1)
        return logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0].mean(-1)
    chosen = -1 if subject.task == NEXT else subject.tensor([each or 0 for each in positions])
    logits = logits[torch.arange(len(logits), device=logits.device), chosen]
    return log_odds(logits, subject.tensor([target.index] * len(logits)))
