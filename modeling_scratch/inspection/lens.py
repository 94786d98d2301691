# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The logit lens: what each layer would answer if the final norm and the head read its output (nostalgebraist 2020).

The last row is the model's answer. Models are trained to have an answer there only: an early layer may hold it in
another basis, where this reading sees nothing.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..heads import pool
from ..inference.answers import names_of
from .answers import top
from .recorder import Recording, as_textbook
from .subjects import CLASSIFICATION, GENERATION, MASKED, MULTI, NEXT, TAGGING, Subject

MOST_LISTED = 3


def main_stack(model: Any) -> tuple[str, Any]:
    """Return path and module of the base model whose output the head reads: an encoder, or a decoder."""
    path = "" if model.base_model is model else f"{model.base_model_prefix}."
    base = model.base_model
    return (f"{path}decoder", base.decoder) if hasattr(base, "decoder") else (path.rstrip("."), base)


def hidden_states(recording: Recording, path: str) -> list[Tensor]:
    """Return the recorded outputs (1, T, hidden) of the embeddings and of each block of the base model at a path."""
    keys, start = recording.keys, f"{path}." if path else ""
    numbers = range(len(recording.modules))
    blocks = [f"{start}stack.layers.{number}" for number in numbers if f"{start}stack.layers.{number}" in keys]
    return [keys[name].tensor for name in (f"{start}embeddings", *blocks)]


def layer_names(count: int) -> list[str]:
    return ["embeddings", *(f"layer {number}" for number in range(1, count))]


def lens(subject: Subject, recording: Recording) -> dict[str, Any] | None:
    """Return each layer's answers, most likely first, and KL(final || layer) in nats; None without a head."""
    model, head = subject.model, HEADS.get(subject.task)
    if head is None:
        return None
    path, base = main_stack(model)
    states = hidden_states(recording, path)
    with as_textbook(model), torch.no_grad():
        logits = [head(subject, base.stack.norm(each)).float() for each in states]
    logs = [_log_probabilities(subject, each) for each in logits]
    rows = "target_tokens" if subject.task == GENERATION else "text" if head is _text_logits else "tokens"
    layers = [
        {"name": name, "answers": _answers(subject, each), "divergence": _divergence(logs[-1], log).tolist()}
        for name, each, log in zip(layer_names(len(states)), logits, logs)
    ]
    return {"rows": rows, "layers": layers}


def _text_logits(subject: Subject, states: Tensor) -> Tensor:
    model, config = subject.model, subject.model.config
    mask = torch.ones(states.shape[:2], device=states.device)
    if hasattr(model, "score"):
        return model.score(pool(states, mask, "last"))
    return model.classifier(pool(states, mask, config.classifier_pooling))


HEADS: dict[str, Callable[[Subject, Tensor], Tensor]] = {
    CLASSIFICATION: _text_logits,
    MULTI: _text_logits,
    TAGGING: lambda subject, states: subject.model.classifier(states)[0],
    MASKED: lambda subject, states: subject.model.lm_head(states)[0],
    NEXT: lambda subject, states: subject.model.lm_head(subject.model.projection(states))[0],
    GENERATION: lambda subject, states: subject.model.lm_head(subject.model.projection(states))[0],
}


def _log_probabilities(subject: Subject, logits: Tensor) -> Tensor:
    """(rows, C) -> (rows, C, outcomes): each label of a multi-label model is true or false."""
    if subject.task != MULTI:
        return logits.log_softmax(-1)
    return F.logsigmoid(torch.stack((logits, -logits), -1))


def _divergence(final: Tensor, other: Tensor) -> Tensor:
    return (final.exp() * (final - other)).flatten(1).sum(-1).clamp(min=0)


def _answers(subject: Subject, logits: Tensor) -> list[list[dict[str, Any]]]:
    if subject.task in (MASKED, NEXT, GENERATION):
        tokenizer = subject.target_tokenizer if subject.task == GENERATION else subject.tokenizer
        listed = [top(row, tokenizer, MOST_LISTED) for row in logits]
        return [[{"label": each["token"], "p": each["p"]} for each in row] for row in listed]
    names = names_of(subject.model.config)
    probabilities = logits.sigmoid() if subject.task == MULTI else logits.softmax(-1)
    return [
        [{"label": names[index], "p": row[index].item()} for index in row.topk(min(MOST_LISTED, len(row))).indices]
        for row in probabilities
    ]
