# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What turns hidden states into answers: pooling, heads and their losses.

Shapes: B batch, T length, V vocabulary, C labels.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .configuration_scratch import ProblemType, ScratchConfig, ScratchEncoderConfig
from .dropout import Dropout
from .layers import ACTIVATIONS, NORMS
from .packed_input import document_starts, packed_lengths
from .products import linear


def _pool_mean(hidden_states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(hidden_states.dtype)
    return (hidden_states * weights).sum(1) / weights.sum(1).clamp(min=1)


def _pool_max(hidden_states: Tensor, mask: Tensor) -> Tensor:
    return hidden_states.masked_fill(~mask.unsqueeze(-1), torch.finfo(hidden_states.dtype).min).amax(1)


POOLINGS = {"mean": _pool_mean, "max": _pool_max}


def _first(mask: Tensor) -> Tensor:
    return mask.int().argmax(-1)  # not always 0: padding may stand on the left


def _last(mask: Tensor) -> Tensor:
    return mask.shape[1] - 1 - mask.flip(-1).int().argmax(-1)


POOLED_TOKENS = {"first": _first, "last": _last}


def pooled_places(
    shape: Sequence[int], attention_mask: Tensor | None, lengths: Tensor | None, pooling: str, device: torch.device
) -> Tensor | None:
    """Indices (B,) in the flattened (B, T) of the one token that each text is read from; None: pooling reads all.

    lengths (sequences,) are those of a batch that arrived packed: then there is one a sequence.
    """
    if pooling not in POOLED_TOKENS:
        return None
    if lengths is not None:
        ends = lengths.to(device).cumsum(0)
        return (ends - 1 if pooling == "last" else ends - lengths.to(device)).clamp(0, shape[0] * shape[1] - 1)
    mask = torch.ones(tuple(shape), device=device) if attention_mask is None else attention_mask.to(device).bool()
    return POOLED_TOKENS[pooling](mask) + torch.arange(shape[0], device=device) * shape[1]


def pool(hidden_states: Tensor, attention_mask: Tensor | None, pooling: str) -> Tensor:
    """One vector a text, from its real tokens only: (B, T, hidden), mask (B, T) or None -> (B, hidden).

    A text of no tokens is zeros.
    """
    if attention_mask is None:
        attention_mask = hidden_states.new_ones(hidden_states.shape[:2])
    mask = attention_mask.to(hidden_states.device).bool()
    places = pooled_places(mask.shape, mask, None, pooling, mask.device)
    pooled = POOLINGS[pooling](hidden_states, mask) if places is None else hidden_states.flatten(0, 1)[places]
    return without_empty(pooled, mask)


def without_empty(pooled: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Zeros for the texts of no tokens: (B, hidden), mask (B, T) or None -> (B, hidden)."""
    if attention_mask is None:
        return pooled
    return pooled.masked_fill(~attention_mask.to(pooled.device).bool().any(-1, keepdim=True), 0)


HEAD_ACTIVATIONS: dict[str | None, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": F.relu, "gelu": F.gelu}


class ClassificationHead(nn.Module):
    """act(x W) W_C, or x W_C alone where config.classifier_activation is None. (B, hidden) -> (B, C)."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__()
        self.activation = HEAD_ACTIVATIONS.get(config.classifier_activation)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size) if self.activation else None
        self.dropout = classifier_dropout(config)
        self.out_proj = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, pooled: Tensor) -> Tensor:
        if self.dense is not None:
            pooled = self.activation(self.dense(pooled))
        return self.out_proj(self.dropout(pooled))


def classifier_dropout(config: ScratchEncoderConfig) -> Dropout:
    return Dropout(config.hidden_dropout if config.classifier_dropout is None else config.classifier_dropout)


class MaskedLMHead(nn.Module):
    """norm(act(x W)) E^T + b, E the token embeddings where tied (Devlin et al. 2019). (B, T, hidden) -> (B, T, V)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__()
        self.activation, _ = ACTIVATIONS[config.hidden_act]
        self.dense = nn.Linear(config.hidden_size, config.embedding_size)
        self.norm = NORMS[config.norm_type](config.embedding_size, eps=config.norm_eps)
        self.decoder = nn.Linear(config.embedding_size, config.vocab_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return linear(self.decoder, self.norm(self.activation(linear(self.dense, hidden_states))))


def padding_mask(attention_mask: Tensor | None) -> Tensor | None:
    """The mask (B, T), where it says what is padding; one of (B, 1, T, S) says what sees what, and nothing of that."""
    return None if isinstance(attention_mask, Tensor) and attention_mask.ndim != 2 else attention_mask


def _reduce(losses: Tensor, count: Tensor | int, num_items_in_batch: Tensor | int | None) -> Tensor:
    """Sum over the items of the whole optimiser step where Trainer counted them, else over those of this batch.

    So that gradients of 4 x 2 texts accumulated equal those of 1 x 8.
    """
    items = count if num_items_in_batch is None else num_items_in_batch
    return losses.sum() / (items.to(losses.device).clamp(min=1) if isinstance(items, Tensor) else max(items, 1))


def cross_entropy(
    logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None, label_smoothing: float = 0.0
) -> Tensor:
    """-mean log p(label) in float32 over labels that are not -100. (..., C) and (...) -> scalar; no label at all: 0.

    label_smoothing: the share of a label that is spread over all C (Szegedy et al. 2016).
    """
    logits, labels = logits.flatten(0, -2).float(), labels.flatten().to(logits.device)
    losses = F.cross_entropy(logits, labels, ignore_index=-100, reduction="none", label_smoothing=label_smoothing)
    return _reduce(losses, (labels != -100).sum(), num_items_in_batch)


def _squared_error(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
    labels = labels.to(logits.device).view_as(logits)
    return _reduce((logits.float() - labels.float()) ** 2, labels.numel(), num_items_in_batch)


def _binary_cross_entropy(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
    losses = F.binary_cross_entropy_with_logits(logits.float(), labels.to(logits.device).float(), reduction="none")
    return _reduce(losses, labels.numel(), num_items_in_batch)


CLASSIFICATION_LOSSES = {
    "single_label_classification": cross_entropy,
    "multi_label_classification": _binary_cross_entropy,
    "regression": _squared_error,
}


def classification_loss(
    config: ScratchConfig, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None
) -> Tensor:
    """The loss of config.problem_type; where it is None, the labels tell, and the config remembers."""
    if config.problem_type is None:  # remembered, so that a saved model is served as it was trained
        config.problem_type = infer_problem_type(config.num_labels, labels)
    return CLASSIFICATION_LOSSES[config.problem_type](logits, labels, num_items_in_batch)


def shift_left(labels: Tensor) -> Tensor:
    """What each position of a causal model is to predict: the label after it, nothing at the end. (B, T) -> (B, T)."""
    return F.pad(labels[..., 1:], (0, 1), value=-100)


def next_tokens(
    labels: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None, kwargs: dict[str, Any]
) -> Tensor:
    """What each position is to predict (B, T): padding predicts nothing, nor a packed sequence the one after it."""
    if attention_mask is None and position_ids is not None:
        follows = position_ids.expand(labels.shape).diff(dim=-1) == 1
        labels = labels.masked_fill(~F.pad(follows, (1, 0)), -100)
    elif (lengths := packed_lengths(labels.shape, attention_mask, position_ids, kwargs)) is not None:
        labels = labels.masked_fill(document_starts(lengths, labels.shape), -100)
    labels = shift_left(labels)
    real = padding_mask(attention_mask)
    return labels if real is None else labels.masked_fill(real[:, -labels.shape[1] :] == 0, -100)


def share_predicted(items: Tensor | int | None, labels: Tensor, shift_labels: Tensor) -> Tensor | int | None:
    """Trainer counts all labels but the first of each row; of these items, the share that is predicted."""
    if items is None:
        return None
    return items * (shift_labels != -100).sum() / (labels[:, 1:] != -100).sum().clamp(min=1)


def shift_right(labels: Tensor, start: int, pad: int) -> Tensor:
    """What a decoder reads to predict labels: a start token, then the label before; pad where there is none."""
    shifted = F.pad(labels[..., :-1], (1, 0), value=start)
    return shifted.masked_fill(shifted == -100, pad)


def up_to_last_label(labels: Tensor) -> Tensor:
    """The mask of a decoder in training: no label is predicted from what stands behind the last. (B, T) -> (B, T)."""
    return (labels != -100).flip(-1).cumsum(-1).flip(-1).clamp(max=1)


def infer_problem_type(num_labels: int, labels: Tensor) -> ProblemType:
    """What Hugging Face's classifiers take labels for where config.problem_type does not say."""
    if num_labels == 1:
        return "regression"
    return "multi_label_classification" if labels.is_floating_point() else "single_label_classification"


def span_loss(
    start_logits: Tensor,
    end_logits: Tensor,
    starts: Tensor,
    ends: Tensor,
    attention_mask: Tensor | None = None,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor:
    """Mean of the cross-entropies of start and end over the real tokens, (B, T) and (B,) -> ().

    A position that is no real token is ignored: the answer lies outside this piece of the context.
    """
    real = torch.ones_like(start_logits, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    labels = torch.stack((starts.view(-1), ends.view(-1)))  # (2, B)
    last = real.shape[1] - 1
    inside = (labels >= 0) & (labels <= last) & real.gather(1, labels.T.clamp(0, last)).T
    labels = labels.masked_fill(~inside, -100)
    logits = (x.masked_fill(~real, torch.finfo(x.dtype).min) for x in (start_logits, end_logits))
    losses = (cross_entropy(*pair, num_items_in_batch) for pair in zip(logits, labels))
    return torch.stack(list(losses)).mean()
