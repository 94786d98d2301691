# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What each layer holds: its answer by the logit lens, and where two texts part.

The logit lens is what each layer would answer if the final norm and the head read its output (nostalgebraist 2020). The
last row is the model's answer. Models are trained to have an answer there only: an early layer may hold it in another
basis, where this reading sees nothing.

Of two texts, distance = |h_a - h_b| / mean(|h_a|, |h_b|) of tokens that both share, aligned by difflib.
"""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
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
Read = tuple[Sequence[int], Recording]  # the ids of a text, and its recording


def main_stack(model: Any) -> tuple[str, Any]:
    """Return path and module of the base model whose output the head reads: an encoder, or a decoder."""
    path = "" if model.base_model is model else f"{model.base_model_prefix}."
    base = model.base_model
    return (f"{path}decoder", base.decoder) if hasattr(base, "decoder") else (path.rstrip("."), base)


def stream_names(path: str, base: Any) -> list[str]:
    """Return the paths of the embeddings and of each block of the base model at a path."""
    blocks = [f"stack.layers.{number}" for number in range(len(base.stack.layers))]
    return [f"{path}.{name}".lstrip(".") for name in ("embeddings", *blocks)]


def hidden_states(recording: Recording, path: str, base: Any) -> list[Tensor]:
    """Return the recorded outputs (1, T, hidden) of the embeddings and of each block of the base model at a path."""
    return [recording.keys[name].tensor for name in stream_names(path, base)]


def layer_names(count: int) -> list[str]:
    return ["embeddings", *(f"layer {number}" for number in range(1, count))]


def lens(subject: Subject, recording: Recording) -> dict[str, Any] | None:
    """Return each layer's answers, most likely first, and KL(final || layer) in nats; None without a head."""
    model, head = subject.model, HEADS.get(subject.task)
    if head is None:
        return None
    path, base = main_stack(model)
    states = hidden_states(recording, path, base)
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
    model, is_real = subject.model, states.new_ones(states.shape[:2])  # a text alone has no padding
    if hasattr(model, "score"):
        return model.score(pool(states, is_real, "last"))
    return model.classifier(pool(states, is_real, model.config.classifier_pooling))


def _token_logits(subject: Subject, states: Tensor) -> Tensor:
    model = subject.model
    head = model.classifier if subject.task == TAGGING else model.lm_head
    return head(states if subject.task in (TAGGING, MASKED) else model.projection(states))[0]


HEADS: dict[str, Callable[[Subject, Tensor], Tensor]] = {
    CLASSIFICATION: _text_logits,
    MULTI: _text_logits,
    **dict.fromkeys((TAGGING, MASKED, NEXT, GENERATION), _token_logits),
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
        listed = [top(row, subject.written_tokenizer, MOST_LISTED) for row in logits]
        return [[{"label": each["token"], "p": each["p"]} for each in row] for row in listed]
    names = names_of(subject.model.config)
    probabilities = logits.sigmoid() if subject.task == MULTI else logits.softmax(-1)
    return [
        [{"label": names[index], "p": row[index].item()} for index in row.topk(min(MOST_LISTED, len(row))).indices]
        for row in probabilities
    ]


def compared(left: Read, right: Read, model: Any) -> dict[str, Any]:
    """Return aligned tokens, those that only one text has, and each layer's distances; of an encoder-decoder, of the
    encoder.
    """
    (ids, recording), (others, other) = left, right
    matches = SequenceMatcher(None, list(ids), list(others), autojunk=False).get_matching_blocks()
    aligned = [(match.a + step, match.b + step) for match in matches for step in range(match.size)]
    path, base = main_stack(model)
    if model.config.is_encoder_decoder:
        path, base = f"{path.removesuffix('decoder')}encoder", model.base_model.encoder
    layers = zip(hidden_states(recording, path, base), hidden_states(other, path, base))
    distances = [distance(a[0], b[0], aligned) for a, b in layers]
    return {
        "aligned": aligned,
        "only_a": sorted(set(range(len(ids))) - {a for a, _ in aligned}),
        "only_b": sorted(set(range(len(others))) - {b for _, b in aligned}),
        "layers": layer_names(len(distances)),
        "distance": distances,
        "mean": [sum(row) / len(row) if row else None for row in distances],
    }


def distance(left: Tensor, right: Tensor, aligned: Sequence[tuple[int, int]]) -> list[float]:
    """Return the relative distances of aligned hidden states (T, hidden)."""
    if not aligned:
        return []
    a, b = left[[pair[0] for pair in aligned]].double(), right[[pair[1] for pair in aligned]].double()
    norms = (a.norm(dim=-1) + b.norm(dim=-1)) / 2
    return ((a - b).norm(dim=-1) / norms.clamp(min=1e-30)).tolist()
