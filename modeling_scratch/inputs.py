# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a batch may be: padded texts, or segments in one row; and the checks of it.

Shapes: B batch, T length, E embedding size, N segments.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.utils import is_tracing

from .positions import positions_from_lengths, positions_from_mask, restarts


@dataclass
class Inputs:
    """input_ids (B, T) or inputs_embeds (B, T, E), and the arguments that accompany them.

    attention_mask is one of
    - (B, past + T), 1 at real tokens and 0 at padding
    - (B, 1, T, past + T), true where a query sees a key, causality and window included
    - the same shape in floats, which are added to the scores
    - a dictionary of these by type of layer, from generate_batch
    past is the number of cached tokens, prefix that of arguments in errors: "decoder_" or "".

    A row may hold several texts, segments that do not see each other, in Hugging Face's form
    (DataCollatorWithFlattening): without attention_mask, and with position_ids that restart, or
    with cu_seq_lens (N + 1,), the bounds of the N segments in the flattened batch. Texts of 3 and
    2 tokens in one row have position_ids [0 1 2 0 1] and cu_seq_lens [0 3 5].
    """

    input_ids: Tensor | None = None
    inputs_embeds: Tensor | None = None
    attention_mask: Any = None
    position_ids: Tensor | None = None
    token_type_ids: Tensor | None = None
    cu_seq_lens: Tensor | None = None
    past: Tensor | int = 0
    prefix: str = ""
    # (N,), adding up to B * T; None: each row is one text, or a graph is traced, which cannot look.
    segment_lengths: Tensor | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Raises ValueError, or TypeError for what is no tensor."""
        ids, embeds = f"{self.prefix}input_ids", f"{self.prefix}inputs_embeds"
        if (self.input_ids is None) == (self.inputs_embeds is None):
            raise ValueError(f"Give either {ids} or {embeds}, exactly one of them.")
        if self.inputs_embeds is None:
            check_shape(self.input_ids, ids, ("texts", "tokens"))
        else:
            check_shape(self.inputs_embeds, embeds, ("texts", "tokens", "size"))
        check_mask(self.attention_mask, self.read, f"{self.prefix}attention_mask", self.past)
        if self.cu_seq_lens is not None and self.attention_mask is None:
            check_bounds(self.cu_seq_lens, self.shape)
        if self.attention_mask is None:
            self.segment_lengths = self._find_segments()

    @property
    def read(self) -> Tensor:
        """What was given: input_ids or inputs_embeds."""
        return self.input_ids if self.inputs_embeds is None else self.inputs_embeds

    @property
    def shape(self) -> torch.Size:
        """(B, T)."""
        return self.read.shape[:2]

    def real_tokens(self, pad_token_id: int | None = None) -> Tensor | None:
        """(B, T), true at real tokens; None: all are, or a mask of scores does not tell.

        pad_token_id: the padding where there is no mask.
        """
        if is_padding_mask(self.attention_mask):
            return self.attention_mask[:, -self.shape[1] :].bool()  # without cached tokens
        if (
            self.attention_mask is None
            and self.input_ids is not None
            and pad_token_id is not None
        ):
            return self.input_ids != pad_token_id
        return None

    def _find_segments(self) -> Tensor | None:
        if self.cu_seq_lens is not None:
            return self.cu_seq_lens.diff()
        if self.position_ids is None or is_tracing(self.position_ids):
            return None
        starts = restarts(self.position_ids, self.shape)  # (B, T)
        if not starts[:, 1:].any():
            return None
        first_tokens = starts.flatten().nonzero().flatten()  # (N,), in the flattened batch
        return F.pad(first_tokens, (0, 1), value=starts.numel()).diff()

    def segment_ids(self) -> Tensor | None:
        """[0, 0, 0, 1, 1, ...]: the segment of each token (B, T); None: each row is one sequence."""
        lengths = self.segment_lengths
        if lengths is not None:
            ids = torch.arange(len(lengths), device=lengths.device)
            ids = ids.repeat_interleave(lengths, output_size=self.shape.numel())
        elif self.position_ids is not None and self.attention_mask is None:
            if not is_tracing(self.position_ids):
                return None
            ids = restarts(self.position_ids, self.shape).flatten().cumsum(0)
        else:
            return None
        return ids.view(self.shape)  # (B * T,) -> (B, T)

    def positions(self) -> Tensor:
        """(B, T): as given, or counted from the start of each segment or text's real tokens."""
        if self.position_ids is not None:
            return self.position_ids.expand(self.shape)
        if self.cu_seq_lens is not None and self.attention_mask is None:
            return positions_from_lengths(self.cu_seq_lens.diff(), self.shape)
        device = self.read.device
        positions = positions_from_mask(self.attention_mask, self.shape, device, self.past)
        return positions.expand(self.shape)


def is_padding_mask(attention_mask: Any) -> bool:
    """Whether this is a mask (B, T) of padding; one of scores (B, 1, T, S) does not tell what is."""
    return getattr(attention_mask, "ndim", 0) == 2


# --- checks: each raises ValueError with the argument's name, its shape and what it has to be -----


def check_tensor(value: Any, name: str) -> None:
    """Raises TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}: a {type(value).__name__} is no tensor; tokenizers make one by "
            "return_tensors='pt'."
        )


def check_shape(states: Any, name: str, axes: tuple[str, ...]) -> None:
    check_tensor(states, name)
    message = f"{name} {tuple(states.shape)}: has to be ({', '.join(axes)})"
    if states.ndim != len(axes):
        raise ValueError(f"{message}; a single text is {name}[None].")
    if not is_tracing(states) and 0 in states.shape[:2]:
        raise ValueError(f"{message}, none of them 0; leave empty texts out.")


def check_mask(mask: Any, states: Tensor, name: str, past: Any = 0) -> None:
    """states (B, T, ...): what is masked, after past cached tokens; traced graphs are not checked."""
    if isinstance(mask, dict):  # by type of layer, of generate_batch
        mask = mask.get("full_attention", mask)
    if mask is None or is_tracing(states) or len(getattr(mask, "shape", ())) == 4:
        return  # the last says what sees what, which masks.py checks
    check_tensor(mask, name)
    if isinstance(past, Tensor) and past.device.type == "cpu":  # of a static cache
        past = int(past)
    if isinstance(past, int) and mask.shape != (len(states), past + states.shape[1]):
        raise ValueError(
            f"{name} {tuple(mask.shape)}: has to be {(len(states), past + states.shape[1])}, "
            "(texts, cached and new tokens)."
        )
    if mask.is_floating_point() and (mask < 0).any():
        raise ValueError(
            f"{name} has negative values: has to be 1 at real tokens and 0 at padding; "
            "biases are 4-D."
        )


def check_bounds(bounds: Tensor, shape: torch.Size) -> None:
    if bounds.device.type != "cpu" or is_tracing(bounds):
        return
    rows = torch.arange(0, shape.numel() + 1, shape[1])
    if not torch.isin(rows, bounds).all() or bounds.diff().abs().sum() != rows[-1]:
        raise ValueError(
            f"cu_seq_lens_q {bounds.tolist()}: has to rise from 0, with the end of each row, "
            f"{rows[1:].tolist()}, so that every token belongs to one sequence."
        )
