# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model's answer to a text, and its score: the number whose change explanations attribute to words.

A score is the log-odds log(p / (1 - p)) of the label or of the token at one position, the mean log-probability of the
tokens of a whole target, or the number of a regression. Probabilities of sure answers hardly change with a word.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..inference.answers import explained, log_odds, names_of
from .notes import note
from .subjects import (
    CLASSIFICATION,
    EMBEDDING,
    GENERATION,
    MASKED,
    MULTI,
    NEXT,
    REGRESSION,
    SPAN,
    TAGGING,
    TEXT_TASKS,
    Subject,
    masked_positions,
)

MOST_LISTED, MOST_A_POSITION = 50, 5
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


def answer_of(subject: Subject, output: Any) -> tuple[dict[str, Any], Target | None]:
    """Return the answer that a recorded output holds, and the target whose score is explained; None: there is none."""
    return ANSWERS[subject.task](subject, output)


def _labels(subject: Subject, output: Any) -> tuple[dict[str, Any], Target]:
    logits, names = output.logits[0].float(), names_of(subject.model.config)
    p = logits.sigmoid() if subject.task == MULTI else logits.softmax(-1)
    every = [{"label": n, "p": q, "logit": x} for n, q, x in zip(names, p.tolist(), logits.tolist())]
    best = int(logits.argmax())
    answer = {"label": names[best], "p": p[best].item(), "all": every}
    if subject.task == MULTI:
        answer["labels"] = [each["label"] for each in every if each["p"] > 0.5]
    return answer, Target(note("label", names[best]), best)


def _numbers(subject: Subject, output: Any) -> tuple[dict[str, Any], Target]:
    names = names_of(subject.model.config)
    values = output.logits[0].tolist()
    return {"values": [{"label": n, "value": v} for n, v in zip(names, values)]}, Target(note("number", names[0]))


def _tags(subject: Subject, output: Any) -> tuple[dict[str, Any], Target | None]:
    """The label of each token; explained is the surest one that is no `OUTSIDE`, of a token of the text."""
    p, names = output.logits[0].float().softmax(-1), names_of(subject.model.config)
    found = [{"label": names[int(row.argmax())], "p": row.max().item()} for row in p]
    real = [number for number, added in enumerate(subject.text.special) if not added] or [0]
    focus = max(real, key=lambda number: (found[number]["label"] != OUTSIDE, found[number]["p"]))
    target = Target(note("tag", found[focus]["label"], focus + 1), int(p[focus].argmax()), focus)
    return {"tokens": found, "focus": focus}, target if len(names) > 1 else None  # one label has no odds


def _masked(subject: Subject, output: Any) -> tuple[dict[str, Any], Target]:
    logits, positions = output.logits[0].float(), masked_positions(subject, subject.text.ids)
    found = {str(each): top(logits[each], subject.tokenizer, 10) for each in positions}
    focus = positions[0]
    best = found[str(focus)][0]
    target = Target(note("label", best["token"]), best["id"], focus)
    return {"masked": positions, "tokens": found, "focus": focus}, target


def _written(subject: Subject, output: Any) -> tuple[dict[str, Any], Target]:
    """The most likely tokens at each position; explained is the next token, or the whole of an encoder-decoder's."""
    logits, tokenizer = output.logits[0].float(), subject.written_tokenizer
    best, last = top(logits[-1], tokenizer, MOST_LISTED), len(logits) - 1
    rows = [top(row, tokenizer, MOST_A_POSITION) for row in logits]
    answer = {"top": best, "logits": logits[-1], "positions": rows, "focus": last}
    if subject.task == NEXT:
        return answer, Target(note("next token", best[0]["token"]), best[0]["id"], last)
    text = str(tokenizer.decode(subject.target_ids, skip_special_tokens=True)).strip()
    return {"text": text, **answer}, Target(note("output"))


def _span(_: Subject, output: Any) -> tuple[dict[str, Any], None]:
    starts, ends = (logits[0].float().softmax(-1).tolist() for logits in (output.start_logits, output.end_logits))
    return {"start": starts, "end": ends}, None


def _embedding(_: Subject, output: Any) -> tuple[dict[str, Any], None]:
    return {"pooled": output.last_hidden_state[0].float().mean(0)}, None


ANSWERS: dict[str, Callable[[Subject, Any], tuple[dict[str, Any], Target | None]]] = {
    CLASSIFICATION: _labels, MULTI: _labels, REGRESSION: _numbers, TAGGING: _tags, MASKED: _masked, NEXT: _written,
    GENERATION: _written, SPAN: _span, EMBEDDING: _embedding,
}  # fmt: skip


def top(logits: Tensor, tokenizer: Any, count: int) -> list[dict[str, Any]]:
    """Return the most likely tokens of a row of logits (V,)."""
    p = logits.softmax(-1)
    best = p.topk(min(count, len(p)))
    found = zip(best.indices.tolist(), best.values.tolist(), logits[best.indices].tolist())
    return [{"token": shown(tokenizer, token), "id": token, "p": q, "logit": x} for token, q, x in found]


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
