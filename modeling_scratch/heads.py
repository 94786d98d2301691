# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What heads share: from hidden states to one vector per text, and losses.

Shapes: B batch, T length, N segments, C labels.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .configuration_scratch import ProblemType, ScratchConfig


def _mean(hidden_states: Tensor, mask: Tensor) -> Tensor:
    total = (hidden_states * mask.unsqueeze(-1)).sum(
        1, dtype=torch.promote_types(hidden_states.dtype, torch.float32)
    )
    return (total / mask.sum(1, keepdim=True).clamp(min=1)).to(hidden_states.dtype)


def _max(hidden_states: Tensor, mask: Tensor) -> Tensor:
    return hidden_states.masked_fill(
        ~mask.unsqueeze(-1), torch.finfo(hidden_states.dtype).min
    ).amax(1)


POOLINGS = {"mean": _mean, "max": _max}
POOLED_TOKENS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda mask: mask.int().argmax(-1),  # not always 0: padding may stand on the left
    "last": lambda mask: mask.shape[1] - 1 - mask.flip(-1).int().argmax(-1),
}


def pooled_tokens(
    shape: Sequence[int],
    attention_mask: Tensor | None,
    lengths: Tensor | None,
    pooling: str,
    device: torch.device,
) -> Tensor | None:
    """Indices (B,) in the flattened (B, T) of the one token that each text is read from; None: pooling reads all.

    lengths (N,) of segments: one index per segment.
    """
    if pooling not in POOLED_TOKENS:
        return None
    if lengths is not None:
        lengths = lengths.to(device)
        indices = lengths.cumsum(0) - 1  # the last token of each
        if pooling == "first":
            indices = indices + 1 - lengths
        return indices.clamp(0, shape[0] * shape[1] - 1)
    mask = torch.ones(tuple(shape), device=device)
    if attention_mask is not None:
        mask = attention_mask.to(device).bool()
    return POOLED_TOKENS[pooling](mask) + torch.arange(shape[0], device=device) * shape[1]


def pool(hidden_states: Tensor, attention_mask: Tensor | None, pooling: str) -> Tensor:
    """One vector per text, from its real tokens only: (B, T, hidden), mask (B, T) or None -> (B, hidden).

    A text of no tokens is zeros.
    """
    mask = attention_mask
    if mask is None:
        mask = hidden_states.new_ones(hidden_states.shape[:2])
    mask = mask.to(hidden_states.device).bool()
    indices = pooled_tokens(mask.shape, mask, None, pooling, mask.device)
    if indices is None:
        pooled = POOLINGS[pooling](hidden_states, mask)  # (B, hidden)
    else:
        pooled = hidden_states.flatten(0, 1)[indices]
    return pooled.masked_fill(~mask.any(-1, keepdim=True), 0)


def one_segment_a_row(
    hidden_states: Tensor, lengths: Tensor, longest: int | None = None
) -> tuple[Tensor, Tensor]:
    """(B, T, hidden) of segments of these lengths (N,) -> (N, longest, hidden) and its mask of real tokens.

    longest: the maximum of lengths; None: computed, which synchronises an accelerator.
    """
    if longest is None or lengths.device.type == "cpu":
        longest = int(lengths.max())
    states, lengths = hidden_states.flatten(0, 1), lengths.to(hidden_states.device)[:, None]
    columns = torch.arange(longest, device=states.device)
    indices, mask = lengths.cumsum(0) - lengths + columns, columns < lengths
    indices = indices.clamp(max=len(states) - 1).flatten()
    # The gradient of index_select is index_add; that of states[indices] sorts the indices first.
    read = states.index_select(0, indices)
    return read.view(*mask.shape, -1).masked_fill(~mask[..., None], 0), mask


class Pooler(nn.Module):
    """tanh(x W) of a text's first token, trained in BERT to recognise consecutive sentences (Devlin et al. 2019)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, pooled: Tensor) -> Tensor:
        return self.dense(pooled).tanh()


def padding_mask(attention_mask: Tensor | None) -> Tensor | None:
    """A mask (B, T) of padding, as it is. A mask (B, 1, T, S) does not tell what padding is: None."""
    return attention_mask if getattr(attention_mask, "ndim", 0) == 2 else None


def _reduce(
    losses: Tensor, count: Tensor | int, num_items_in_batch: Tensor | int | None
) -> Tensor:
    """Sum of losses / number of items: those of the optimizer step if Trainer counted them, else of this batch.

    So that gradients of 4 x 2 texts accumulated equal those of 1 x 8 (of causal models, see count_predicted).
    """
    items = num_items_in_batch
    if items is None:
        items = count
    if isinstance(items, Tensor):
        return losses.sum() / items.to(losses.device).clamp(min=1)
    return losses.sum() / max(items, 1)


def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    num_items_in_batch: Tensor | int | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """-mean log p(label) in float32 over labels that are not -100. (..., C) and (...) -> scalar; no label at all: 0.

    label_smoothing: the share of a label that is spread over all C (Szegedy et al. 2016).
    """
    logits, labels = logits.flatten(0, -2).float(), labels.flatten().to(logits.device)
    losses = F.cross_entropy(
        logits, labels, ignore_index=-100, reduction="none", label_smoothing=label_smoothing
    )
    return _reduce(losses, (labels != -100).sum(), num_items_in_batch)


def _squared_error(
    logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None
) -> Tensor:
    labels = labels.to(logits.device).view_as(logits)
    return _reduce((logits.float() - labels.float()) ** 2, labels.numel(), num_items_in_batch)


def _binary_cross_entropy(
    logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None
) -> Tensor:
    losses = F.binary_cross_entropy_with_logits(
        logits.float(), labels.to(logits.device).float(), reduction="none"
    )
    return _reduce(losses, labels.numel(), num_items_in_batch)


CLASSIFICATION_LOSSES = {
    "single_label_classification": cross_entropy,
    "multi_label_classification": _binary_cross_entropy,
    "regression": _squared_error,
}


def classification_loss(
    config: ScratchConfig,
    logits: Tensor,
    labels: Tensor,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor:
    """The loss of config.problem_type; where it is None, the labels tell, as they tell Hugging Face's classifiers."""
    # It is remembered, so that a saved model is served as it was trained.
    if config.problem_type is None:
        is_one = not labels.is_floating_point()
        kind: ProblemType = (
            "single_label_classification" if is_one else "multi_label_classification"
        )
        config.problem_type = "regression" if config.num_labels == 1 else kind
    return CLASSIFICATION_LOSSES[config.problem_type](logits, labels, num_items_in_batch)


def span_loss(
    start_logits: Tensor,
    end_logits: Tensor,
    starts: Tensor,
    ends: Tensor,
    attention_mask: Tensor | None = None,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor:
    """Mean of the cross-entropies of start and end over the real tokens, (B, T) and (B,) -> ().

    An answer outside the real tokens of this piece of the context is ignored.
    """
    if attention_mask is None:
        real = torch.ones_like(start_logits, dtype=torch.bool)
    else:
        real = attention_mask.bool()
    labels = torch.stack((starts.view(-1), ends.view(-1)))  # (2, B)
    last = real.shape[1] - 1
    is_real = real.gather(1, labels.T.clamp(0, last)).T  # (2, B)
    labels = labels.masked_fill((labels < 0) | (labels > last) | ~is_real, -100)
    losses = []
    for logits, places in zip((start_logits, end_logits), labels):
        logits = logits.masked_fill(~real, torch.finfo(logits.dtype).min)
        losses.append(cross_entropy(logits, places, num_items_in_batch))
    return torch.stack(losses).mean()
