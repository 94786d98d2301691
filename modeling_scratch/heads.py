# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What heads share: from hidden states to one vector per text, and losses.

Shapes: B batch, T length, N segments, M tokens that are read, C labels.

Pooling has two steps. pooled_tokens says which tokens will be read, so that an engine may leave out the others; pool
reads them. Of segments, these indices are the texts; mean and max first put one segment into each row.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .configuration_scratch import ScratchConfig
from .inputs import Inputs, is_padding_mask


def _mean(hidden_states: Tensor, mask: Tensor) -> Tensor:
    # hidden_states (B, T, hidden), mask (B, T) -> (B, hidden).
    dtype = torch.promote_types(hidden_states.dtype, torch.float32)
    total = (hidden_states * mask[..., None]).sum(1, dtype=dtype)  # (B, hidden)
    count = mask.sum(1, keepdim=True).clamp(min=1)  # (B, 1)
    return (total / count).to(hidden_states.dtype)


def _max(hidden_states: Tensor, mask: Tensor) -> Tensor:
    # hidden_states (B, T, hidden), mask (B, T) -> (B, hidden).
    least = torch.finfo(hidden_states.dtype).min
    return hidden_states.masked_fill(~mask[..., None], least).amax(1)  # (B, hidden)


POOLINGS = {"mean": _mean, "max": _max}
POOLED_TOKENS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda real: real.int().argmax(-1),  # after padding, which may stand on the left
    "last": lambda real: real.shape[1] - 1 - real.flip(-1).int().argmax(-1),
}


def poolable_tokens(config: Any, inputs: Inputs, pooling: str) -> Tensor:
    """(B, T), true at the tokens that a text is read from: real ones, or as native classes choose them."""
    real = inputs.real_tokens()
    is_native = config.counted_tokens != "real"
    if pooling == "first" and is_native:
        return torch.ones_like(real)  # column 0, even where it is padding
    if pooling == "last" and (is_native or inputs.attention_mask is None):
        return inputs.tokens_except(config.pad_token_id)
    return real


def pooled_tokens(inputs: Inputs, real: Tensor, pooling: str) -> Tensor | None:
    """The token that each text is read from: indices (B,) in the flattened (B, T); None: pooling reads all.

    real (B, T): true at the tokens that count. Of segments, one index per segment, (N,).
    """
    if pooling not in POOLED_TOKENS:
        return None
    device, lengths = inputs.read.device, inputs.segment_lengths
    if lengths is not None:
        lengths = lengths.to(device)
        ends = lengths.cumsum(0)
        indices = ends - lengths if pooling == "first" else ends - 1
        return indices.clamp(0, inputs.shape.numel() - 1)  # an empty segment may end the batch
    rows = torch.arange(inputs.shape[0], device=device) * inputs.shape[1]
    return rows + POOLED_TOKENS[pooling](real.to(device))


def one_segment_a_row(
    hidden_states: Tensor, lengths: Tensor, longest: int | None = None
) -> tuple[Tensor, Tensor]:
    """(B, T, hidden) of segments of these lengths (N,) -> (N, longest, hidden) and its mask of real tokens.

    longest: the maximum of lengths; None: computed, which synchronises an accelerator.
    """
    if longest is None or lengths.device.type == "cpu":
        longest = int(lengths.max())
    states, lengths = hidden_states.flatten(0, 1), lengths.to(hidden_states.device)[:, None]
    starts = lengths.cumsum(0) - lengths  # (N, 1), in the flattened batch
    columns = torch.arange(longest, device=states.device)
    mask = columns < lengths  # (N, longest)
    indices = (starts + columns).clamp(max=len(states) - 1).flatten()
    # The gradient of index_select is index_add; that of states[indices] sorts the indices first.
    read = states.index_select(0, indices)
    return read.view(*mask.shape, -1).masked_fill(~mask[..., None], 0), mask


def pooled_output(
    model: Any, inputs: Inputs, pooling: str, **kwargs: Any
) -> tuple[Tensor, Any]:
    """One vector per text, (B, hidden), or per segment, (N, hidden), and the base model's output.

    It is zeros for a text of no tokens.
    """
    real = poolable_tokens(model.config, inputs, pooling)
    indices = pooled_tokens(inputs, real, pooling)
    outputs = model(inputs=inputs, token_indices=indices, return_dict=True, **kwargs)
    hidden_states, lengths = outputs.last_hidden_state, inputs.segment_lengths
    device = hidden_states.device  # not that of the inputs, if a model lies on several
    if indices is not None:
        pooled = hidden_states.flatten(0, 1).index_select(0, indices.to(device))
    elif lengths is not None:
        longest = kwargs.get("max_length_q")
        pooled = POOLINGS[pooling](*one_segment_a_row(hidden_states, lengths, longest))
    else:
        pooled = POOLINGS[pooling](hidden_states, real.to(device))
    has_tokens = real.any(-1) if lengths is None else lengths > 0  # (B,) or (N,)
    return pooled.masked_fill(~has_tokens[:, None].to(device), 0), outputs


class Pooler(nn.Module):
    """tanh(x W) of a text's first token, trained in BERT to recognise consecutive sentences (Devlin et al. 2019)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, pooled: Tensor) -> Tensor:
        return self.dense(pooled).tanh()


def labelled_tokens(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Indices (M,) in the flattened (B, T) of the tokens that have a label, and these labels (M,)."""
    labels = labels.flatten()
    indices = (labels != -100).nonzero().flatten()
    return indices, labels[indices]


def mean_loss(
    losses: Tensor, count: Tensor | int, num_items_in_batch: Tensor | int | None
) -> Tensor:
    """Sum of losses / number of items: those of the optimizer step if Trainer counted them, else of this batch.

    Gradients of 4 x 2 accumulated texts then equal those of 1 x 8.
    """
    items = count if num_items_in_batch is None else num_items_in_batch
    if isinstance(items, Tensor):
        return losses.sum() / items.to(losses.device).clamp(min=1)
    return losses.sum() / max(items, 1)


# Each loss is None where there are no labels.


def cross_entropy(
    logits: Tensor,
    labels: Tensor | None,
    num_items_in_batch: Tensor | int | None = None,
    label_smoothing: float = 0.0,
) -> Tensor | None:
    """-mean log p(label) in float32 over labels that are not -100. (..., C) and (...) -> scalar; all are -100: 0.

    label_smoothing: the share of a label that is spread over all C (Szegedy et al. 2016).
    """
    if labels is None:
        return None
    logits, labels = logits.flatten(0, -2).float(), labels.flatten().to(logits.device)
    if not labels.is_floating_point():  # classes; NumPy and Arrow may hold them as int32
        labels = labels.long()
    losses = F.cross_entropy(
        logits, labels, ignore_index=-100, reduction="none", label_smoothing=label_smoothing
    )
    return mean_loss(losses, (labels != -100).sum(), num_items_in_batch)


# Beside cross_entropy, of logits and labels of one shape.
LOSSES: dict[str, Callable[..., Tensor]] = {
    "multi_label_classification": F.binary_cross_entropy_with_logits,
    "regression": F.mse_loss,
}


def classification_loss(
    config: ScratchConfig,
    logits: Tensor,
    labels: Tensor | None,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor | None:
    """The loss of config.problem_type; where it is None, the labels tell, as they tell Hugging Face's classifiers."""
    if labels is None:
        return None
    # It is remembered, so that a saved model is served as it was trained.
    if config.problem_type is None:
        if config.num_labels == 1:
            config.problem_type = "regression"
        elif labels.is_floating_point():
            config.problem_type = "multi_label_classification"
        else:
            config.problem_type = "single_label_classification"
    if config.problem_type == "single_label_classification":
        return cross_entropy(logits, labels, num_items_in_batch)
    labels = labels.to(logits.device).view_as(logits).float()
    losses = LOSSES[config.problem_type](logits.float(), labels, reduction="none")
    return mean_loss(losses, labels.numel(), num_items_in_batch)


def span_loss(
    start_logits: Tensor,
    end_logits: Tensor,
    starts: Tensor | None,
    ends: Tensor | None,
    attention_mask: Tensor | None = None,
    num_items_in_batch: Tensor | int | None = None,
) -> Tensor | None:
    """Mean of the cross-entropies of start and end over the real tokens, (B, T) and (B,) -> ().

    An answer outside the real tokens of this piece of the context is ignored.
    """
    if starts is None or ends is None:
        return None
    real = torch.ones_like(start_logits, dtype=torch.bool)
    if is_padding_mask(attention_mask):
        real = attention_mask[:, -start_logits.shape[1] :].bool()  # without cached tokens
    columns, losses = torch.arange(real.shape[1], device=real.device), []
    for logits, positions in (start_logits, starts), (end_logits, ends):
        is_answer = real & (columns == positions.view(-1, 1))  # (B, T)
        labels = positions.view(-1).masked_fill(~is_answer.any(-1), -100)
        logits = logits.masked_fill(~real, torch.finfo(logits.dtype).min)
        losses.append(cross_entropy(logits, labels, num_items_in_batch))
    return torch.stack(losses).mean()
