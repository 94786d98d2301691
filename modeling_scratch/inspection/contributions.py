# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What adds up to an answer: the share of each part of the model in a logit (Elhage et al. 2021, "direct" attribution).

x = E[token] + Σ_l update_l, score = d · W norm(pool(norm(x))) + β

The residual stream x is a sum, and so is the score, once the norms divide by the spread that this text has. A post-norm
block divides the sum on its way, and a maximum or a hidden layer in the head is not linear: such models have none.

Shapes: T tokens, C labels, N parts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..inference.answers import names_of
from .answers import Target, shown
from .attributions import read_rows
from .lens import hidden_states, main_stack
from .notes import Note
from .recorder import Recording, as_textbook
from .subjects import CLASSIFICATION, NEXT, TEXT_TASKS, Subject

TOKENS, EMBEDDINGS = "tokens", "embeddings"
# What else is added to the embeddings, by whether there are positions, and token types.
ADDED = {(True, False): "positions", (False, True): "token_types", (True, True): "positions_types"}
ATTENTION, FEED_FORWARD, BLOCK, BIAS = "attention", "feed_forward", "block", "bias"
MOST_MISSED = 0.01  # of the largest part


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
        embedded, pieces = _embedded(subject, reader, recording)
        parts = [*embedded, *_updates(reader, recording), Part(BIAS, reader.constant)]
    missed = abs(reader.value - sum(part.value for part in parts))
    if missed > MOST_MISSED * max(abs(part.value) for part in parts):
        subject.notes.append(_missed(missed))
        return None
    pieces = sorted(pieces, key=lambda piece: -abs(piece.value))
    pieces = pieces if len(pieces) > 1 else []
    return Contributions(reader.score, target.index, reader.others, reader.value, parts, pieces)


def _missed(missed: float) -> Note:
    return Note(
        f"what adds up to the answer is left out: the parts miss it by {missed:.2g}",
        f"woraus sich die Antwort zusammensetzt, fehlt: Die Teile verfehlen sie um {missed:.2g}",
    )


def _is_sum(subject: Subject) -> bool:
    model, config = subject.model, subject.model.config
    if subject.task not in (*TEXT_TASKS, NEXT) or config.norm_position == "post":
        return False
    return not hasattr(model, "classifier") or (model.classifier.dense is None and config.classifier_pooling != "max")


class _Reader:
    """The head as a linear function of the residual stream: its norms divide by what they divide by in this text."""

    def __init__(self, subject: Subject, target: Target, recording: Recording) -> None:
        self.model = subject.model
        path, base = main_stack(self.model)
        self.start = f"{path}." if path else ""
        self.outputs = hidden_states(recording, path)
        self.norm = base.stack.norm
        classifier = getattr(self.model, "classifier", None)
        self.pooled_norm = nn.Identity() if classifier is None else classifier.norm
        self.pooled = None if classifier is None else recording.keys["pooled"].tensor
        self.head = _head(self.model)
        logits = recording.output.logits[0].float()
        logits = logits[-1] if subject.task == NEXT else logits
        # (T,): how much of each token the pooled vector has.
        self.shares = read_rows(subject, torch.eye(self.outputs[-1].shape[1], device=logits.device), target)
        self.direction, self.score = _direction(subject, target, logits)
        self.others = float(self.direction.min()) if len(logits) > 1 else 0.0
        self.value = (logits @ self.direction).item()
        zeros = torch.zeros_like(self.outputs[-1][0, :1])
        self.at_zero = self._scored(zeros)
        shift = _normed(self.pooled_norm, _shift(self.norm, zeros), self.pooled)
        self.constant = self._scored(shift + _shift(self.pooled_norm, shift)).item()

    def __call__(self, states: Tensor) -> Tensor:
        """A part of the stream (1, T, hidden) -> what it adds to the score by each token (T,)."""
        return self._added(self._shared(states))

    def total(self, states: Tensor) -> float:
        """What a part of the stream (1, T, hidden) adds to the score."""
        return self._added(self._shared(states).sum(0, keepdim=True)).item()

    def _shared(self, states: Tensor) -> Tensor:
        """The share of each token in the pooled vector, (1, T, hidden) -> (T, hidden)."""
        return (_normed(self.norm, states.float(), self.outputs[-1]) * self.shares[:, None])[0]

    def _added(self, pooled: Tensor) -> Tensor:
        """Shares of the pooled vector (N, hidden) -> what each adds to the score (N,)."""
        return self._scored(_normed(self.pooled_norm, pooled, self.pooled)) - self.at_zero

    def _scored(self, read: Tensor) -> Tensor:
        """What the head reads (N, hidden) -> the score (N,), biases of the head included."""
        return self.head(read.to(self.outputs[-1].dtype)).float() @ self.direction


def _head(model: Any) -> Callable[[Tensor], Tensor]:
    """The last linear layers: of a classifier, of a decoder that classifies, or of a language model."""
    if hasattr(model, "classifier"):
        return model.classifier.out_proj
    return model.score if hasattr(model, "score") else nn.Sequential(model.projection, model.lm_head)


def _normed(norm: Any, part: Tensor, whole: Any) -> Tensor:
    """(part - its mean) / spread of the whole * weight, without the shift; of RMSNorm, without the mean."""
    if isinstance(norm, nn.Identity):
        return part
    part, whole = part.float(), whole.float()
    if isinstance(norm, nn.LayerNorm):
        part, whole = (each - each.mean(-1, keepdim=True) for each in (part, whole))
    return part / (whole.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight.float()


def _shift(norm: Any, like: Tensor) -> Tensor:
    shift = getattr(norm, "bias", None)
    return torch.zeros_like(like) if shift is None else shift.float().expand_as(like)


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
    return direction, Note(
        f"logit of {name} less the mean of the others", f"Logit von {name} abzüglich des Mittels der anderen"
    )


def _embedded(subject: Subject, reader: _Reader, recording: Recording) -> tuple[list[Part], list[Term]]:
    """Return the parts of the embeddings, and their pieces; one part where a norm or a projection mixes them."""
    whole, embeddings = reader.outputs[0].float(), main_stack(reader.model)[1].embeddings
    layers = embeddings.norm, embeddings.projection
    if embeddings.scale != 1.0 or not all(isinstance(layer, nn.Identity) for layer in layers):
        return [Part(EMBEDDINGS, reader.total(whole))], []
    rows = recording.keys[f"{reader.start}embeddings.tokens"].tensor.float()
    parts = [Part(TOKENS, reader.total(rows))]
    has_positions = embeddings.positions is not None or embeddings.sinusoid is not None
    if (name := ADDED.get((has_positions, embeddings.token_types is not None))) is not None:
        parts.append(Part(name, reader.total(whole - rows)))
    return parts, _pieces(subject, reader(rows).tolist())


def _pieces(subject: Subject, values: list[float]) -> list[Term]:
    """values (T,): what each token adds by its embedding."""
    places: dict[int, list[int]] = {}
    for place, (token, value) in enumerate(zip(subject.text.ids, values)):
        if value:
            places.setdefault(token, []).append(place)
    return [
        Term(_text_of(subject, found[0]), len(found), found[0], sum(values[place] for place in found))
        for found in places.values()
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
            parts.append(Part(BLOCK, reader.total(after - before), layer + 1))
            continue
        middle = recording.keys[f"{reader.start}stack.layers.{layer}.attention_residual.after"].tensor
        for name, update in (ATTENTION, middle - before), (FEED_FORWARD, after - middle):
            parts.append(Part(name, reader.total(update), layer + 1))
    return parts
