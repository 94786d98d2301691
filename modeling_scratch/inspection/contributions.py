# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What adds up to an answer: the share of each part of the model in a logit (Elhage et al. 2021, "direct" attribution).

x = E[token] + G[n-grams] + Σ_l update_l, score = d · W pool(norm(x)) + β

The residual stream x is a sum, and so is the score, once the norms divide by the spread that this text has. A post-norm
block divides the sum on its way, and a maximum or a dense layer before the head is not linear: such models have none.

Shapes: T tokens, C labels, N parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..heads import pool
from ..inference.answers import names_of
from .answers import Target, shown
from .lens import main_stack
from .notes import Note
from .recorder import Recording
from .subjects import CLASSIFICATION, NEXT, TEXT_TASKS, Subject

LINEAR, TOKENS, NGRAMS, POSITIONS, EMBEDDINGS = "linear", "tokens", "ngrams", "positions", "embeddings"
ATTENTION, FEED_FORWARD, BLOCK, BIAS = "attention", "feed_forward", "block", "bias"
NGRAM_LENGTHS = 2, 3
CLOSE = 1e-3  # of weights that lower precision has rounded


@dataclass(frozen=True)
class Part:
    """A summand of the score. layer: from 1 on, of a block's part."""

    name: str
    value: float
    layer: int | None = None


@dataclass(frozen=True)
class Piece:
    """What a token's embedding, or an n-gram's, adds to the score. linear: the linear part's share of it."""

    text: str
    first: int
    last: int
    value: float
    linear: float | None


@dataclass(frozen=True)
class Contributions:
    """score: its description. The parts add up to `value`; pieces are those of the embeddings, the largest first."""

    score: str
    value: float
    parts: list[Part]
    pieces: list[Piece]


def contributions_of(subject: Subject, target: Target, recording: Recording) -> Contributions | None:
    """Return what adds up to the answer of a recorded text; None for a model whose answer is no sum."""
    if not _is_sum(subject):
        return None
    reader = _Reader(subject, target, recording)
    embedded, pieces = _embedded(subject, reader, recording)
    parts = [*embedded, *_updates(reader, recording)]
    rest = reader.value - sum(part.value for part in parts)
    pieces = sorted(pieces, key=lambda piece: -abs(piece.value))
    return Contributions(reader.score, reader.value, [*parts, Part(BIAS, rest)], pieces)


def _is_sum(subject: Subject) -> bool:
    model, config = subject.model, subject.model.config
    if subject.task not in (*TEXT_TASKS, NEXT) or config.norm_position == "post":
        return False
    reads_one_vector = not hasattr(model, "classifier") or model.classifier.dense is None
    return reads_one_vector and (not hasattr(model, "classifier") or config.classifier_pooling != "max")


def linear_coordinates(model: Any) -> slice | None:
    """Return the coordinates of the hidden states that hold a linear part: the head averages nothing else into a label.

    The last C columns of its weights (C, hidden) are then a multiple of I - 1 / C.
    """
    if not hasattr(model, "classifier") or (count := model.config.num_labels) < 2:
        return None
    weight = model.classifier.out_proj.weight.detach().float()[:, -count:]
    ideal = torch.eye(count, device=weight.device) - 1 / count
    factor = (weight * ideal).sum() / (ideal * ideal).sum()
    if factor <= 0 or not torch.allclose(weight, factor * ideal, rtol=CLOSE, atol=CLOSE * factor.item()):
        return None
    return slice(model.config.hidden_size - count, model.config.hidden_size)


class _Reader:
    """The head as a linear function of the residual stream: its norms divide by what they divide by in this text."""

    def __init__(self, subject: Subject, target: Target, recording: Recording) -> None:
        self.model = subject.model
        path, base = main_stack(self.model)
        self.start = f"{path}." if path else ""
        names = ("embeddings", *(f"stack.layers.{number}" for number in range(len(base.stack.layers))))
        self.outputs = [recording.keys[f"{self.start}{name}"].tensor for name in names]
        self.norm, self.linear = base.stack.norm, linear_coordinates(self.model)
        self.pooled = recording.keys["pooled"].tensor if hasattr(self.model, "classifier") else None
        logits = recording.output.logits[0].float()
        logits = logits[-1] if subject.task == NEXT else logits
        self.direction, self.score = _direction(subject, target, logits)
        self.value = (logits @ self.direction).item()

    def __call__(self, parts: Tensor) -> Tensor:
        """Parts of the stream (N, T, hidden) -> what each adds to the score (N,)."""
        states = _normed(self.norm, parts.float(), self.outputs[-1])
        if self.pooled is not None:
            head, norm = self.model.classifier.out_proj, self.model.classifier.norm
            read = _normed(norm, pool(states, None, self.model.config.classifier_pooling), self.pooled)
        else:
            head, read = getattr(self.model, "score", None), states[:, -1]
        if head is None:
            head, read = self.model.lm_head, _linear(self.model.projection, read)
        return read @ (head.weight.float().T @ self.direction)


def _normed(norm: Any, part: Tensor, whole: Tensor) -> Tensor:
    """(part - its mean) / spread of the whole * weight, without the shift; of RMSNorm, without the mean."""
    if isinstance(norm, nn.Identity):
        return part
    has_mean = isinstance(norm, nn.LayerNorm)
    part, whole = (each.float() - each.float().mean(-1, keepdim=True) * has_mean for each in (part, whole))
    return part / (whole.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight.float()


def _linear(layer: nn.Module, values: Tensor) -> Tensor:
    return values @ layer.weight.float().T if isinstance(layer, nn.Linear) else values


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


def _embedded(subject: Subject, reader: _Reader, recording: Recording) -> tuple[list[Part], list[Piece]]:
    """Return the parts of the embeddings, and their pieces; one part where a norm or a projection mixes them."""
    whole, embeddings = reader.outputs[0].float(), main_stack(reader.model)[1].embeddings
    layers = embeddings.norm, embeddings.projection
    if embeddings.scale != 1.0 or not all(isinstance(layer, nn.Identity) for layer in layers):
        return [Part(EMBEDDINGS, reader(whole).item())], []
    tokens = recording.keys[f"{reader.start}embeddings.tokens"].tensor.float()
    rows = tokens.new_zeros((len(NGRAM_LENGTHS), *tokens.shape[1:]))
    if embeddings.ngrams is not None:
        rows = recording.keys[f"{reader.start}embeddings.ngrams.table"].tensor[:, 0].float()
    named, parts = {TOKENS: tokens}, []
    if embeddings.ngrams is not None:
        named[NGRAMS] = rows.sum(0, keepdim=True)
    if reader.linear is not None:
        linear = {name: _only(states, reader.linear) for name, states in named.items()}
        parts.append(Part(LINEAR, reader(torch.stack([*linear.values()]).sum(0)).item()))
        named = {name: states - linear[name] for name, states in named.items()}
    if any(each is not None for each in (embeddings.positions, embeddings.sinusoid, embeddings.token_types)):
        named[POSITIONS] = whole - tokens - rows.sum(0)
    parts += [Part(name, reader(states).item()) for name, states in named.items()]
    return parts, _pieces(subject, reader, torch.cat((tokens, rows)))


def _only(states: Tensor, chosen: slice) -> Tensor:
    """The states with 0 in all other coordinates."""
    kept = torch.zeros_like(states)
    kept[..., chosen] = states[..., chosen]
    return kept


def _pieces(subject: Subject, reader: _Reader, rows: Tensor) -> list[Piece]:
    """rows (3, T, E): of tokens, of pairs and of triples, at the token that ends them."""
    found, names = [], [shown(subject.tokenizer, token) for token in subject.text.ids]
    for length, states in zip((1, *NGRAM_LENGTHS), rows):
        alone = torch.diag_embed(states.T).movedim(0, -1)  # (T, T, E): each token's row where it stands
        values = reader(alone).tolist()
        linear = [None] * len(names) if reader.linear is None else reader(_only(alone, reader.linear)).tolist()
        for last in range(length - 1, len(names)):
            if states[last].any() and values[last]:
                first = last - length + 1
                found.append(Piece(_joined(names[first : last + 1]), first, last, values[last], linear[last]))
    return found


def _joined(names: Sequence[str]) -> str:
    return " ".join(map(str.strip, names))


def _updates(reader: _Reader, recording: Recording) -> list[Part]:
    """What attention and feed-forward of each block add to the stream; a parallel block adds both at once."""
    parts = []
    for number, (before, after) in enumerate(zip(reader.outputs, reader.outputs[1:])):
        middle = recording.keys[f"{reader.start}stack.layers.{number}.attention_residual.after"].tensor
        is_parallel = torch.equal(middle, after)
        steps = [(BLOCK if is_parallel else ATTENTION, middle - before), (FEED_FORWARD, after - middle)]
        for name, update in steps[:1] if is_parallel else steps:
            parts.append(Part(name, reader(update).item(), number + 1))
    return parts
