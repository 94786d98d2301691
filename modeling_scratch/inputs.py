# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a batch may be, padded texts or segments in one row; and the masks that are made of it.

A query i of a text sees key j if all of these hold:

    j is a real token                     attention_mask (B, S)
    j <= i, in a decoder                  is_causal
    |i - j| is inside the window          layers of type sliding_attention
    i and j are of one segment            rows that hold several texts, see Inputs

transformers.masking_utils makes of it what an attention backend takes, (B, 1, T, S):

    eager            float32, 0 where i sees j and the most negative number elsewhere
    sdpa             booleans; None where all is visible, or where causality is all: the kernel
                     reads module.is_causal
    flash_attention  attention_mask (B, S), or None and the bounds of segments
    flex_attention   a BlockMask

Shapes: B batch, T length, S keys, E embedding size, N segments.
"""

import copy
from dataclasses import InitVar, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache
from transformers.masking_utils import (
    create_bidirectional_mask,
    create_bidirectional_sliding_window_mask,
    create_causal_mask,
    create_sliding_window_causal_mask,
    packed_sequence_mask_function,
)
from transformers.utils import is_tracing

from .attention import self_attention_cache
from .configuration_scratch import ScratchConfig


@dataclass
class Inputs:
    """input_ids (B, T) or inputs_embeds (B, T, E), and the arguments that accompany them.

    attention_mask is one of
    - (B, past + T), 1 at real tokens and 0 at padding
    - (B, 1, T, past + T), true where a query sees a key, causality and window included
    - the same shape in floats, which are added to the scores
    - a dictionary of these by type of layer, from generate_batch
    past is the number of tokens in past_key_values, a tensor where a static cache counts on its
    device. prefix is that of arguments in errors: "decoder_" or "".

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
    past_key_values: InitVar[Cache | None] = None
    prefix: str = ""
    past: Tensor | int = field(init=False, default=0)
    # [0, 0, 0, 1, 1, ...], the segment of each token (B, T); None: each row is one text.
    segment_ids: Tensor | None = field(init=False, default=None)
    # (N,), adding up to B * T; None: as above, or a graph is traced, which cannot look.
    segment_lengths: Tensor | None = field(init=False, default=None)

    def __post_init__(self, past_key_values: Cache | None) -> None:
        """Raises ValueError for arguments of another shape than that of a batch."""
        if past_key_values is not None:
            self.past = past_key_values.get_seq_length()
        ids, embeds = f"{self.prefix}input_ids", f"{self.prefix}inputs_embeds"
        if (self.input_ids is None) == (self.inputs_embeds is None):
            hint = self.prefix and "; guidance_scale, which gives neither, is for decoders"
            raise ValueError(f"Give either {ids} or {embeds}, exactly one of them{hint}.")
        check_shape(self.input_ids, ids, ("texts", "tokens"))
        check_shape(self.inputs_embeds, embeds, ("texts", "tokens", "size"))
        check_mask(self.attention_mask, self.read, f"{self.prefix}attention_mask", self.past)
        if self.attention_mask is None:
            self._find_segments()

    @property
    def read(self) -> Tensor:
        """What was given: input_ids or inputs_embeds."""
        return self.input_ids if self.inputs_embeds is None else self.inputs_embeds

    @property
    def shape(self) -> torch.Size:
        """(B, T)."""
        return self.read.shape[:2]

    def real_tokens(self) -> Tensor:
        """(B, T), true at real tokens by the mask; everywhere, where no mask tells what is padding."""
        if is_padding_mask(self.attention_mask):
            return self.attention_mask[:, -self.shape[1] :].bool()  # without cached tokens
        return torch.ones(self.shape, dtype=torch.bool, device=self.read.device)

    def tokens_except(self, pad_token_id: int | None) -> Tensor:
        """(B, T), true where input_ids is another token; everywhere, for None and for embeddings."""
        if self.input_ids is None or pad_token_id is None:
            return torch.ones(self.shape, dtype=torch.bool, device=self.read.device)
        return self.input_ids != pad_token_id

    def _find_segments(self) -> None:
        if self.cu_seq_lens is not None:
            self.segment_lengths = self.cu_seq_lens.diff()
            ids = torch.arange(len(self.segment_lengths), device=self.cu_seq_lens.device)
            ids = ids.repeat_interleave(self.segment_lengths, output_size=self.shape.numel())
            self.segment_ids = ids.view(self.shape)  # (B * T,) -> (B, T)
        elif self.position_ids is not None:
            position_ids = self.position_ids.expand(self.shape)
            # [0 1 2 0 1] starts at 0 and 3. The first difference is 0, so that each row starts one.
            starts = position_ids.diff(dim=-1, prepend=position_ids[:, :1]) != 1  # (B, T)
            ids = starts.flatten().cumsum(0) - 1  # (B * T,)
            is_traced = is_tracing(position_ids)
            if is_traced or ids[-1] >= self.shape[0]:  # more segments than rows
                self.segment_ids = ids.view(self.shape)
            if self.segment_ids is not None and not is_traced:
                self.segment_lengths = ids.bincount()

    def positions(self, config: ScratchConfig) -> Tensor:
        """(B, T): as given, or counted from the start of each segment or text, see counted_tokens.

        Real tokens before this one are counted, so that padding on either side changes nothing.
        """
        if self.position_ids is not None:
            positions = self.position_ids.expand(self.shape)
        elif self.segment_lengths is not None:
            lengths = self.segment_lengths
            starts = lengths.cumsum(0) - lengths  # (N,), in the flattened batch
            tokens = torch.arange(self.shape.numel(), device=starts.device).view(self.shape)
            positions = tokens - starts[self.segment_ids]
        elif config.counted_tokens == "not_pad_token_id":
            counted = self.tokens_except(config.pad_token_id)
            # -1 + position_offset is RoBERTa's row of padding.
            positions = torch.where(counted, counted.cumsum(-1) - 1 + self.past, -1)
        elif config.counted_tokens == "real" and is_padding_mask(self.attention_mask):
            positions = self.attention_mask.bool().cumsum(-1) - 1  # (B, past + T)
            positions = positions.clamp(min=0)[:, -self.shape[1] :]
        else:
            positions = torch.arange(self.shape[1], device=self.read.device) + self.past  # (T,)
            positions = positions.expand(self.shape)
        # A packed row is longer than its texts: to look at it would wait for the device.
        if self.cu_seq_lens is None:
            check_length(config, positions, self.past)
        return positions


def is_padding_mask(attention_mask: Any) -> bool:
    """Whether this is a mask (B, T) of padding; one of scores (B, 1, T, S) does not tell what is."""
    return getattr(attention_mask, "ndim", 0) == 2


# --- masks ----------------------------------------------------------------------------------------


# (is the layer local?, is the stack causal?)
MASKS: dict[tuple[bool, bool], Any] = {
    (False, False): create_bidirectional_mask,
    (False, True): create_causal_mask,
    (True, False): create_bidirectional_sliding_window_mask,
    (True, True): create_sliding_window_causal_mask,
}


def eager_config(config: ScratchConfig) -> ScratchConfig:
    """The same config for whoever makes masks, with eager attention as its backend."""
    config = copy.copy(config)
    config._attn_implementation = "eager"
    return config


def self_attention_mask(
    config: ScratchConfig,
    inputs: Inputs,
    is_causal: bool,
    cache: Cache | None = None,
    layer_type: str = "full_attention",
) -> Any:
    """What the backend takes so that tokens see their segment and window.

    They see no padding and, if causal, nothing later.
    """
    mask = inputs.attention_mask
    if isinstance(mask, dict):  # by type of layer, of generate_batch
        mask = mask[layer_type]
    check_mask_of_scores(config, mask)
    within_segment = None
    if inputs.segment_ids is not None and cache is None:
        within_segment = packed_sequence_mask_function(inputs.segment_ids)
    return MASKS[layer_type == "sliding_attention", is_causal](
        config,
        shape_only(inputs),
        mask,
        past_key_values=self_attention_cache(cache),
        and_mask_function=within_segment,
    )


def cross_attention_mask(
    config: ScratchConfig,
    inputs: Inputs,
    encoder_hidden_states: Tensor | None,
    attention_mask: Tensor | None,
) -> Any:
    """What the backend takes so that no token sees padding of what the encoder read.

    attention_mask (B, S), encoder_hidden_states (B, S, hidden).
    """
    if encoder_hidden_states is None:
        return None
    check_mask(attention_mask, encoder_hidden_states, "attention_mask")
    check_mask_of_scores(config, attention_mask)
    return create_bidirectional_mask(
        config, shape_only(inputs), attention_mask, encoder_hidden_states
    )


def shape_only(inputs: Inputs) -> Tensor:
    """Embeddings as masking_utils reads them: shape, device, and the dtype of a mask of scores."""
    return torch.empty((*inputs.shape, 1), dtype=torch.float32, device=inputs.read.device)


def segment_bounds(lengths: Tensor) -> dict[str, Any]:
    """The bounds of segments of these lengths (N,), as the arguments of variable-length kernels."""
    bounds = nn.functional.pad(lengths.cumsum(0), (1, 0))  # (N + 1,), from 0 to B * T
    bounds = bounds.to(torch.int32)
    longest = int(lengths.max())
    return {
        "cu_seq_lens_q": bounds,
        "cu_seq_lens_k": bounds,
        "max_length_q": longest,
        "max_length_k": longest,
    }


# --- checks, which traced graphs skip -------------------------------------------------------------


def check_shape(value: Any, name: str, axes: tuple[int | str, ...]) -> None:
    """Raises ValueError; axes: the size of each axis, or its name where any size but 0 will do."""
    if value is None or is_tracing(value):
        return
    shape = tuple(getattr(value, "shape", ()))
    fits = [size == axis or (isinstance(axis, str) and size) for size, axis in zip(shape, axes)]
    if len(shape) != len(axes) or not all(fits):
        raise ValueError(
            f"{name} {shape}: has to be a tensor ({', '.join(map(str, axes))}); of a list, "
            f"tokenizers make one by return_tensors='pt', and of a single text {name}[None]."
        )


def check_mask(mask: Any, states: Tensor, name: str, past: Any = 0) -> None:
    """states (B, T, ...): what is masked, after past cached tokens."""
    if mask is None or is_tracing(states):
        return
    if isinstance(mask, dict) or len(getattr(mask, "shape", ())) == 4:
        return  # they say what sees what: see check_mask_of_scores
    # A static cache counts on its device, which is not asked.
    tokens = past + states.shape[1] if isinstance(past, int) else "cached and new tokens"
    check_shape(mask, name, (len(states), tokens))
    if mask.is_floating_point() and (mask < 0).any():
        raise ValueError(
            f"{name} has negative values: has to be 1 at real tokens and 0 at padding; "
            "biases are 4-D."
        )


def check_length(config: ScratchConfig, positions: Tensor, past: Tensor | int) -> None:
    """Raises ValueError for a text beyond learned positions; an accelerator would not say why it fails."""
    limit = config.max_position_embeddings
    if config.position_type != "learned" or is_tracing(positions) or isinstance(past, Tensor):
        return
    if past + positions.shape[1] > limit and positions.max() >= limit:
        raise ValueError(
            f"A text of {int(positions.max()) + 1} tokens, but learned positions end at "
            f"max_position_embeddings={limit}: truncate it (tokenizer(..., truncation=True)), or use "
            "rotary or sinusoidal positions."
        )


def check_mask_of_scores(config: ScratchConfig, mask: Any) -> None:
    """mask (B, 1, T, S): a tensor, or a BlockMask for flex_attention. Raises ValueError for others."""
    if len(getattr(mask, "shape", ())) != 4:
        return
    backend, is_dense = config._attn_implementation, isinstance(mask, Tensor)
    is_number = is_dense and mask.dtype != torch.bool and not mask.is_floating_point()
    if is_number or "flash" in backend or is_dense == (backend == "flex_attention"):
        raise ValueError(
            f"{backend} attention would ignore or misread this attention_mask "
            f"{tuple(mask.shape)}. Eager and sdpa take (texts, tokens), or (texts, 1, queries, "
            "keys) of booleans, or of floats that are added to the scores."
        )
