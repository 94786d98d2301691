# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a batch may be: padded texts, or segments in one row; and the checks of it.

Shapes: B batch, T length, E embedding size, N segments.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.utils import is_tracing

from .positions import positions_from_lengths, positions_from_mask, restarts


@dataclass(frozen=True)
class Inputs:
    """input_ids (B, T) or inputs_embeds (B, T, E), and the arguments that accompany them.

    attention_mask: (B, past + T), 1 at real tokens; or (B, 1, T, past + T), true where a query sees a key, causality
    and window included; or a dictionary of these by type of layer. prefix: of the names of arguments in errors,
    "decoder_" or nothing. past: the number of cached tokens; None: the mask was checked before.

    A row may hold several sequences, segments that do not see each other, in Hugging Face's form
    (DataCollatorWithFlattening): without attention_mask, and with position_ids that restart, or with the boundaries
    cu_seq_lens (N + 1,) of the N segments in the flattened batch.
    """

    input_ids: Tensor | None = None
    inputs_embeds: Tensor | None = None
    attention_mask: Any = None
    position_ids: Tensor | None = None
    token_type_ids: Tensor | None = None
    cu_seq_lens: Tensor | None = None
    prefix: str = ""
    past: Tensor | int | None = 0

    def __post_init__(self) -> None:
        """Raises ValueError, or TypeError for what is no tensor; traced graphs check no sizes."""
        axes = {
            f"{self.prefix}input_ids": "(texts, tokens)",
            f"{self.prefix}inputs_embeds": "(texts, tokens, size)",
        }
        given = [
            pair
            for pair in zip(axes, (self.input_ids, self.inputs_embeds))
            if pair[1] is not None
        ]
        if len(given) != 1:
            raise ValueError(f"Give either {' or '.join(axes)}, exactly one of them.")
        ((name, tensor),) = given
        check_tensor(tensor, name)
        message, rank = (
            f"{name} {tuple(tensor.shape)}: has to be {axes[name]}",
            axes[name].count(",") + 1,
        )
        if tensor.ndim != rank:
            raise ValueError(
                f"{message}{f'; a single text is {name}[None]' if tensor.ndim + 1 == rank else ''}."
            )
        if not is_tracing(tensor) and 0 in tensor.shape[:2]:
            raise ValueError(f"{message}, none of them 0; leave empty texts out.")
        check_mask(self.attention_mask, tensor, f"{self.prefix}attention_mask", name, self.past)

    @property
    def shape(self) -> torch.Size:
        """(B, T)."""
        return (self.inputs_embeds if self.input_ids is None else self.input_ids).shape[:2]

    @property
    def device(self) -> torch.device:
        return (self.inputs_embeds if self.input_ids is None else self.input_ids).device

    def without_padding(self, pad_token_id: int) -> "Inputs":
        """The same with this token where attention_mask (B, T) hides one, so that no n-gram reads it."""
        if self.input_ids is None:
            raise ValueError(
                "inputs_embeds: this model also reads n-grams of tokens; give input_ids."
            )
        if getattr(mask := self.attention_mask, "ndim", 0) != 2:
            return self
        return replace(self, input_ids=self.input_ids.masked_fill(~mask.bool(), pad_token_id))

    def segment_lengths(self) -> Tensor | None:
        """(N,), adding up to B * T; None: each row is one sequence, or a traced graph, which cannot look."""
        if self.attention_mask is not None:
            return None
        if (bounds := self.cu_seq_lens) is not None:
            if bounds.device.type == "cpu" and not is_tracing(bounds):
                rows = torch.arange(0, self.shape.numel() + 1, self.shape[1])
                if not (
                    torch.isin(rows, bounds).all() and bounds.diff().abs().sum() == rows[-1]
                ):
                    message = f"cu_seq_lens_q {bounds.tolist()}: has to rise from 0, with the end of each row"
                    raise ValueError(
                        f"{message}, {rows[1:].tolist()}, so that every token belongs to one sequence."
                    )
            return bounds.diff()
        if self.position_ids is None or is_tracing(self.position_ids):
            return None
        starts = restarts(self.position_ids, self.shape)
        bounds = F.pad(starts.flatten().nonzero().flatten(), (0, 1), value=starts.numel())
        return bounds.diff() if starts[:, 1:].any() else None

    def segment_ids(self) -> Tensor | None:
        """[0, 0, 0, 1, 1, ...]: the segment that each token belongs to (B, T); None: each row is one sequence."""
        if (lengths := self.segment_lengths()) is not None:
            numbers = torch.arange(len(lengths), device=lengths.device)
            return numbers.repeat_interleave(lengths, output_size=self.shape.numel()).view(
                self.shape
            )
        if (
            self.attention_mask is None
            and self.position_ids is not None
            and is_tracing(self.position_ids)
        ):
            return restarts(self.position_ids, self.shape).flatten().cumsum(0).view(self.shape)
        return None

    def positions(self, past: Tensor | int = 0) -> Tensor:
        """(B, T): those given, or else counted from the start of each segment or of each text's real tokens."""
        if self.position_ids is not None:
            return self.position_ids.expand(self.shape)
        if self.cu_seq_lens is not None and self.attention_mask is None:
            return positions_from_lengths(self.segment_lengths(), self.shape)
        return positions_from_mask(self.attention_mask, self.shape, self.device, past).expand(
            self.shape
        )


def check_tensor(value: Any, name: str) -> None:
    """Raises TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}: a {type(value).__name__} is no tensor; tokenizers make one by return_tensors='pt'."
        )


def check_mask(mask: Any, states: Tensor, name: str, of: str, past: Any = 0) -> None:
    """Raises ValueError where a mask of padding has not the shape (texts, tokens) of what it masks, or TypeError."""
    if isinstance(mask, dict):  # by type of layer, of generate_batch
        mask = mask.get("full_attention", mask)
    if mask is None or is_tracing(states) or len(getattr(mask, "shape", ())) == 4:
        return  # the last says what sees what, which is the backend's to check
    check_tensor(mask, name)
    if isinstance(past, Tensor) and past.device.type == "cpu":  # of a static cache
        past = int(past)
    if isinstance(past, int) and mask.shape != (shape := (len(states), past + states.shape[1])):
        cached = " after the cached tokens" if past else ""
        raise ValueError(
            f"{name} {tuple(mask.shape)}: has to be {shape}, as {of} (texts, tokens){cached}."
        )
    if mask.is_floating_point() and (mask < 0).any():
        raise ValueError(
            f"{name} has negative values: has to be 1 at real tokens and 0 at padding; biases are 4-D."
        )
