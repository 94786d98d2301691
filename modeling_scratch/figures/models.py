# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The models whose figures are drawn, if no folder has one: a preset in small size, with random weights."""

from collections.abc import Callable
from typing import Any

import torch

from .. import presets
from ..modeling_base import ScratchPreTrainedModel
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..modeling_encoder import ScratchEncoderForMaskedLM
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration

PRESETS: dict[str, Callable[..., Any]] = {
    **presets.ENCODERS,
    **presets.DECODERS,
    **presets.SEQ2SEQS,
    "vaswani_encoder": presets.ENCODERS["vaswani"],
}
HEADS: dict[str, Any] = {
    "scratch_encoder": ScratchEncoderForMaskedLM,
    "scratch_decoder": ScratchDecoderForCausalLM,
    "scratch_seq2seq": ScratchSeq2SeqForConditionalGeneration,
}
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
SPREAD = 0.15  # of the random weights, so that a table of positions shows
POSITIONS = 256


def small_model(preset: str) -> ScratchPreTrainedModel:
    """Return a small model of a preset with random weights, always the same."""
    config = PRESETS[preset](**SMALL, max_position_embeddings=POSITIONS, initializer_range=SPREAD)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return HEADS[config.model_type](config).eval()
