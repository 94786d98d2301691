# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is wrong with an input, said by name before torch fails far from it; traced graphs check no sizes or masks."""

from typing import Any

from torch import Tensor, nn
from transformers.utils import is_tracing


def checked_inputs(
    input_ids: Tensor | None,
    inputs_embeds: Tensor | None,
    attention_mask: Any = None,
    past_key_values: Any = None,
    side: str = "",
) -> Tensor:
    """What a model reads: one of the two, with its axes, of at least one token, and of the mask's shape.

    past_key_values hold tokens that the mask covers, too, so that its shape tells nothing. side: "decoder_" where the
    names of the arguments begin so. Raises ValueError, or TypeError for what is no tensor.
    """
    axes = {f"{side}input_ids": ("texts", "tokens"), f"{side}inputs_embeds": ("texts", "tokens", "size")}
    given = [pair for pair in zip(axes, (input_ids, inputs_embeds)) if pair[1] is not None]
    if len(given) != 1:
        raise ValueError(f"Give either {' or '.join(axes)}, exactly one of them.")
    ((name, inputs),) = given
    _check_tensor(inputs, name)
    found = f"{name} {tuple(inputs.shape)}: has to be ({', '.join(axes[name])})"
    if inputs.ndim != len(axes[name]):
        raise ValueError(f"{found}{f'; a single text is {name}[None]' if inputs.ndim + 1 == len(axes[name]) else ''}.")
    if not is_tracing(inputs) and 0 in inputs.shape[:2]:
        raise ValueError(f"{found}, none of them 0; leave empty texts out.")
    if past_key_values is None:
        check_mask(attention_mask, inputs, f"{side}attention_mask", name)
    return inputs


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: a {type(value).__name__} is no tensor; tokenizers make one by return_tensors='pt'.")


def check_mask(mask: Any, states: Tensor, name: str, of: str) -> None:
    """Raises ValueError where a mask of padding has not the shape (texts, tokens) of what it masks, or TypeError."""
    if mask is None or is_tracing(states) or len(getattr(mask, "shape", ())) == 4:
        return  # the last says what sees what, which is the backend's to check
    _check_tensor(mask, name)
    if mask.shape != states.shape[:2]:
        raise ValueError(f"{name} {tuple(mask.shape)}: has to be {tuple(states.shape[:2])}, as {of} (texts, tokens).")


def look_up(table: nn.Embedding, ids: Tensor, name: str, hint: str) -> Tensor:
    """Rows of a table; on a CPU, IndexError names ids that it lacks."""
    try:
        return table(ids)
    except IndexError as error:
        held, found = len(table.weight), f"{int(ids.min())} to {int(ids.max())}"
        raise IndexError(f"{name} from {found}, but there are embeddings for 0 to {held - 1}: {hint}.") from error
