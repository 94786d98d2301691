# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checkpoints in half precision: element for element the native class, at the magnitudes of trained weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
from native_models import NATIVES, SETTINGS, Native
from torch import Tensor

from modeling_scratch import fast, load_pretrained

BODIES = "ScratchEncoderForMaskedLM", "ScratchDecoderForCausalLM", "ScratchSeq2SeqForConditionalGeneration"
ONE_EACH = [native for native in NATIVES if native.head in BODIES]
WIDTH = {"hidden_size", "d_model", "dim", "n_embd"}
# Constants that are folded into weights are powers of two, as in published checkpoints.
SIZES: dict[str, dict[str, Any]] = {
    "t5": {"d_kv": 16}, "mpt": {"n_heads": 4}, "gemma3_text": {"head_dim": 16, "query_pre_attn_scalar": 16},
}  # fmt: skip
# What rounds differently, each as near to float32 as there, or nearly.
NOT_BIT_BY_BIT = {
    "gpt2": 1.05,  # gelu_new in one step, there in six
    "mpt": 1.1,  # the bias of ALiBi is rounded, too
    "modernbert": 1.25,  # the rotation is rounded, there in float32
}


@torch.no_grad()
def trained(native: Native) -> Any:
    """A native model whose norms are near 1, whose embeddings are small, and whose layers keep the size of states."""
    width = dict.fromkeys(WIDTH & SETTINGS[native.model_type].keys(), 64)
    model = native.model(**{**width, **SIZES.get(native.model_type, {})})
    generator = torch.Generator().manual_seed(1)
    for name, weight in model.named_parameters():
        layer = name.lower()
        drawn = torch.randn(weight.shape, generator=generator)
        if "norm" in layer or ".ln_" in layer:
            starts_at_1 = layer.endswith("weight") and native.model_type != "gemma3_text"
            weight.copy_(starts_at_1 + 0.3 * drawn)
        elif weight.ndim == 1 or any(part in layer for part in ("embed", "wte", "wpe", "shared", "relative")):
            weight.copy_(0.1 * drawn)
        else:
            weight.copy_(1.2 * drawn / weight.shape[1] ** 0.5)
    if native.is_seq2seq and native.model_type != "t5":
        model.final_logits_bias.zero_()  # ours is added before logits are rounded
    if native.model_type == "marian":
        for position in (model.model.encoder.embed_positions, model.model.decoder.embed_positions):
            position.weight.copy_(position.create_weight())
    return model


@torch.no_grad()
def answers(model: Any, native: Native, backend: str) -> Tensor:
    model.set_attn_implementation(backend if model._supports_sdpa else "eager")
    batch = native.batch("right")
    logits = model(**batch).logits.float()
    return logits if native.is_seq2seq else logits[batch["attention_mask"].bool()]


@pytest.mark.parametrize("native", ONE_EACH, ids=lambda native: native.model_type)
def test_logits_equal_those_of_the_native_class(native: Native, tmp_path: Path) -> None:
    reference = trained(native)
    reference.save_pretrained(tmp_path)
    for dtype in (torch.bfloat16, torch.float16):
        theirs = native.model_class.from_pretrained(tmp_path, dtype=dtype).eval()
        ours = load_pretrained(tmp_path, dtype=dtype)
        for backend in ("eager", "sdpa"):
            exact, expected = answers(reference, native, backend), answers(theirs, native, backend)
            with fast.disabled():
                found = answers(ours, native, backend)
            distance = (expected - exact).abs().mean()
            limit = NOT_BIT_BY_BIT.get(native.model_type)
            if limit is None:
                assert torch.equal(found, expected), (dtype, backend)
            assert (found - exact).abs().mean() <= distance * (limit or 1), (dtype, backend)
            # The engine's products have other shapes, which round differently.
            assert (answers(ours, native, backend) - exact).abs().mean() <= 1.3 * distance, (dtype, backend)
