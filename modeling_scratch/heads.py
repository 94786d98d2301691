# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What heads share: from hidden states to one vector per text, and losses.

Shapes: B batch, T length, N texts, L length of the longest one, M tokens that are read, C labels.

Pooling has two steps. pooled_tokens says which tokens will be read, so that an engine may leave out the others;
pooled_output reads them.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .configuration_scratch import ScratchConfig
from .inputs import Inputs, is_padding_mask


def _mean(hidden_states: Tensor, mask: Tensor) -> Tensor:
    # hidden_states (B, T, hidden), mask (B, T) -> (B, hidden).
    dtype = torch.promote_types(hidden_states.dtype, torch.float32)
    total = hidden_states.masked_fill(~mask[..., None], 0).sum(1, dtype=dtype)  # (B, hidden)
    count = mask.sum(1, keepdim=True).clamp(min=1)  # (B, 1)
    return (total / count).to(hidden_states.dtype)


def _max(hidden_states: Tensor, mask: Tensor) -> Tensor:
    # hidden_states (B, T, hidden), mask (B, T) -> (B, hidden).
    least = torch.finfo(hidden_states.dtype).min
    return hidden_states.masked_fill(~mask[..., None], least).amax(1)  # (B, hidden)


POOLINGS = {"mean": _mean, "max": _max}
# Of each row of a mask (N, L) the column that is read, (N,); 0 where it has none.
POOLED_TOKENS = {
    "first": lambda mask: mask.int().argmax(-1),  # after padding, which may stand on the left
    "last": lambda mask: (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(-1),
}


def one_text_a_row(
    config: Any, inputs: Inputs, pooling: str, longest: int | None = None
) -> tuple[Tensor, Tensor]:
    """Indices (N, L) in the flattened (B, T) of the tokens of N texts, and a mask (N, L) of those that count.

    Texts are the rows of a padded batch, then N is B and L is T; or segments, of which the longest has L tokens.
    longest: L; None: computed, which synchronises an accelerator.
    """
    rows, columns = inputs.shape
    tokens = torch.arange(rows * columns, device=inputs.read.device)  # (B * T,)
    if inputs.segment_lengths is None:
        return tokens.view(inputs.shape), tokens_that_count(config, inputs, pooling)
    lengths = inputs.segment_lengths.to(tokens.device)[:, None]  # (N, 1)
    if longest is None:
        longest = int(lengths.max())
    positions = torch.arange(longest, device=tokens.device)
    starts = lengths.cumsum(0) - lengths  # (N, 1)
    # Empty segments may end the batch.
    return (starts + positions).clamp(max=len(tokens) - 1), positions < lengths


def tokens_that_count(config: Any, inputs: Inputs, pooling: str) -> Tensor:
    """(B, T), true at real tokens. Where positions count others, texts are read as native classes read them."""
    is_native = config.counted_tokens != "real"
    if pooling == "first" and is_native:
        return inputs.tokens_except(None)  # column 0, even where it is padding
    if pooling == "last" and (is_native or inputs.attention_mask is None):
        return inputs.tokens_except(config.pad_token_id)
    return inputs.real_tokens()


def select_tokens(states: Tensor, indices: Tensor) -> Tensor:
    """The tokens at indices (...) of the flattened (B, T): (B, T, hidden) -> (..., hidden)."""
    indices = indices.to(states.device)
    # The gradient of index_select is index_add; that of states[indices] sorts the indices first.
    return states.flatten(0, 1).index_select(0, indices.flatten()).unflatten(0, indices.shape)


def pooled_tokens(indices: Tensor, mask: Tensor, pooling: str) -> Tensor | None:
    """The token that each text is read from, see one_text_a_row: indices (N,); None: pooling reads all."""
    if pooling not in POOLED_TOKENS:
        return None
    return indices.gather(1, POOLED_TOKENS[pooling](mask)[:, None]).flatten()


def pooled_output(
    model: Any, inputs: Inputs, pooling: str, **kwargs: Any
) -> tuple[Tensor, Any]:
    """One vector per text, (B, hidden), or per segment, (N, hidden), and the base model's output.

    It is zeros for a text of no tokens.
    """
    texts, mask = one_text_a_row(model.config, inputs, pooling, kwargs.get("max_length_q"))
    indices = pooled_tokens(texts, mask, pooling)
    outputs = model(inputs=inputs, token_indices=indices, return_dict=True, **kwargs)
    states = outputs.last_hidden_state  # (B, T, hidden)
    mask = mask.to(states.device)  # not that of the inputs, if a model lies on several
    if indices is not None:
        pooled = select_tokens(states, indices)
    elif inputs.segment_lengths is None:
        pooled = POOLINGS[pooling](states, mask)
    else:
        pooled = POOLINGS[pooling](select_tokens(states, texts), mask)
    return pooled.masked_fill(~mask.any(-1, keepdim=True), 0), outputs


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
    losses = nn.functional.cross_entropy(
        logits, labels, ignore_index=-100, reduction="none", label_smoothing=label_smoothing
    )
    return mean_loss(losses, (labels != -100).sum(), num_items_in_batch)


# Beside cross_entropy, of logits and labels of one shape.
LOSSES: dict[str, Any] = {
    "multi_label_classification": nn.functional.binary_cross_entropy_with_logits,
    "regression": nn.functional.mse_loss,
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
