# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What adds up to an answer: the share of each part of the model in a logit (Elhage et al. 2021, "direct" attribution).

x = E[token] + Σ_l update_l, score = d · W norm(pool(norm(x))) + β

The residual stream x is a sum, and so is the score, once the norms divide by the spread that this text has. A post-norm
block divides the sum on its way, and a maximum or a hidden layer in the head is not linear: such models have none.

Shapes: T tokens, C labels, N parts.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..heads import pool
from ..inference.answers import names_of
from .answers import Target, shown
from .layers import hidden_states, main_stack
from .recorder import Recording, as_textbook
from .subjects import CLASSIFICATION, NEXT, TEXT_TASKS, Subject

TOKENS, EMBEDDINGS = "tokens", "embeddings"
# What else is added to the embeddings, by whether there are positions, and token types.
ADDED = {(True, False): "positions", (False, True): "token_types", (True, True): "positions_types"}
ATTENTION, FEED_FORWARD, BLOCK, BIAS = "attention", "feed_forward", "block", "bias"
MOST_MISSED, ROUNDING = 0.01, 1e-5  # of the largest part


@dataclass(frozen=True)
class Part:
    """A summand of the score. layer: from 1 on, of a block's part."""

    name: str
    value: float
    layer: int | None = None


@dataclass(frozen=True)
class Term:
    """What the embedding of a token adds to the score, wherever the text has it. first: where it stands first."""

    text: str
    count: int
    first: int
    value: float


@dataclass(frozen=True)
class Contributions:
    """score: its description. The parts add up to `value`; pieces are those of the embeddings, the largest first.

    index: of the score's logit. others: the weight of each other logit in the score.
    """

    score: str
    index: int
    others: float
    value: float
    parts: list[Part]
    pieces: list[Term]


def contributions_of(subject: Subject, target: Target, recording: Recording) -> Contributions | None:
    """Return what adds up to the answer of a recorded text; None for a model whose answer is no sum.

    The subject gets a note if the parts miss the answer, as the rounding of 16 bits can let them.
    """
    if not _is_sum(subject):
        return None
    with as_textbook(subject.model), torch.no_grad():
        reader = _Reader(subject, target, recording)
        parts, pieces = _embedded(subject, reader, recording)
        parts += [*_updates(reader, recording), Part(BIAS, reader.constant)]
    missed = abs(reader.value - sum(part.value for part in parts))
    if missed > MOST_MISSED * max(abs(part.value) for part in parts):
        subject.notes.append(f"what adds up to the answer is left out: the parts miss it by {missed:.2g}")
        return None
    pieces = sorted(pieces, key=lambda piece: -abs(piece.value)) if len(pieces) > 1 else []
    return Contributions(reader.score, target.index, reader.others, reader.value, parts, pieces)


def _is_sum(subject: Subject) -> bool:
    model, config = subject.model, subject.model.config
    if subject.task not in (*TEXT_TASKS, NEXT) or config.norm_position == "post":
        return False
    return not hasattr(model, "classifier") or (model.classifier.dense is None and config.classifier_pooling != "max")


class _Reader:
    """The head as a linear function of the residual stream: its norms divide by what they divide by in this text."""

    def __init__(self, subject: Subject, target: Target, recording: Recording) -> None:
        self.model = subject.model
        self.path, self.base = main_stack(self.model)
        self.outputs = hidden_states(recording, self.path, self.base)
        self.pooled = recording.keys["pooled"].tensor if "pooled" in recording.keys else None
        logits = recording.output.logits[0].float()
        logits = logits[-1] if subject.task == NEXT else logits
        self.direction, self.score = _direction(subject, target, logits)
        self.others = float(self.direction.min()) if len(logits) > 1 else 0.0
        self.value = (logits @ self.direction).item()
        self.constant = self._scored(torch.zeros_like(self.outputs[-1])).item()

    def __call__(self, states: Tensor) -> Tensor:
        """Parts of the stream (N, T, hidden) -> what each adds to the score (N,)."""
        return self._scored(states) - self.constant

    def _scored(self, states: Tensor) -> Tensor:
        """(N, T, hidden) -> the score (N,), with the biases of the norms and of the head."""
        model, dtype = self.model, self.outputs[-1].dtype
        states = _normed(self.base.stack.norm, states, self.outputs[-1])
        is_real = states.new_ones(states.shape[:2])  # a text alone has no padding
        if hasattr(model, "lm_head"):
            logits = model.lm_head(model.projection(states[:, -1].to(dtype)))
        elif hasattr(model, "score"):
            logits = model.score(pool(states, is_real, "last").to(dtype))
        else:
            pooled = pool(states, is_real, model.config.classifier_pooling)
            logits = model.classifier.out_proj(_normed(model.classifier.norm, pooled, self.pooled).to(dtype))
        return logits.float() @ self.direction


def _normed(norm: Any, part: Tensor, whole: Any) -> Tensor:
    """(part - its mean) / spread of the whole * weight + shift; of RMSNorm, without the mean."""
    if isinstance(norm, nn.Identity):
        return part
    part, whole = part.float(), whole.float()
    if isinstance(norm, nn.LayerNorm):
        part, whole = (each - each.mean(-1, keepdim=True) for each in (part, whole))
    normed = part / (whole.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight.float()
    shift = getattr(norm, "bias", None)
    return normed if shift is None else normed + shift.float()


def _direction(subject: Subject, target: Target, logits: Tensor) -> tuple[Tensor, str]:
    """(C,): the weight of each logit in the score, and the name of the score."""
    count, best = len(logits), target.index
    direction = torch.zeros_like(logits)
    if subject.task in (CLASSIFICATION, NEXT) and count > 1:
        direction -= 1 / (count - 1)
    direction[best] = 1
    if subject.task not in (CLASSIFICATION, NEXT) or count <= 2:  # their difference is the log-odds of two labels
        return direction, target.score
    name = shown(subject.tokenizer, best) if subject.task == NEXT else names_of(subject.model.config)[best]
    return direction, f"logit of {name} less the mean of the others"


def _embedded(subject: Subject, reader: _Reader, recording: Recording) -> tuple[list[Part], list[Term]]:
    """Return the parts of the embeddings, and their pieces; one part where a norm or a projection mixes them."""
    whole, embeddings = reader.outputs[0].float(), reader.base.embeddings
    layers = embeddings.norm, embeddings.projection
    if embeddings.scale != 1.0 or not all(isinstance(layer, nn.Identity) for layer in layers):
        return [Part(EMBEDDINGS, reader(whole).item())], []
    rows = recording.keys[f"{reader.path}.embeddings.tokens".lstrip(".")].tensor.float()
    parts = [Part(TOKENS, reader(rows).item())]
    has_positions = embeddings.positions is not None or embeddings.sinusoid is not None
    if (name := ADDED.get((has_positions, embeddings.token_types is not None))) is not None:
        parts.append(Part(name, reader(whole - rows).item()))
    return parts, _pieces(subject, reader, rows)


def _pieces(subject: Subject, reader: _Reader, rows: Tensor) -> list[Term]:
    """What each token adds by its row of the table, wherever the text has it; rows (1, T, hidden)."""
    ids = subject.tensor(subject.text.ids)
    distinct = list(dict.fromkeys(subject.text.ids))
    places = subject.tensor(distinct)[:, None] == ids  # (tokens, T)
    values = reader(rows * places[..., None]).tolist()
    least = ROUNDING * max(map(abs, [reader.constant, *values]))  # tokens that the head does not read add nothing
    return [
        Term(_text_of(subject, subject.text.ids.index(token)), int(where.sum()), subject.text.ids.index(token), value)
        for token, where, value in zip(distinct, places, values)
        if abs(value) > least
    ]


def _text_of(subject: Subject, place: int) -> str:
    """What the token stands for in the text; the name of a special one, and where the tokenizer tells no places."""
    text = subject.text
    start, end = (0, 0) if text.spans is None else text.spans[place]
    return text.text[start:end] or shown(subject.tokenizer, text.ids[place]).strip()


def _updates(reader: _Reader, recording: Recording) -> list[Part]:
    """What attention and feed-forward of each block add to the stream; a parallel block adds both at once."""
    parts = []
    for layer, (before, after) in enumerate(zip(reader.outputs, reader.outputs[1:])):
        if reader.model.config.block_type == "parallel":
            parts.append(Part(BLOCK, reader(after - before).item(), layer + 1))
            continue
        block = f"{reader.path}.stack.layers.{layer}".lstrip(".")
        middle = recording.keys[f"{block}.attention_residual.after"].tensor
        for name, update in (ATTENTION, middle - before), (FEED_FORWARD, after - middle):
            parts.append(Part(name, reader(update).item(), layer + 1))
    return parts
