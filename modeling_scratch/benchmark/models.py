# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs of equivalent models, Hugging Face's class and ours, and the check of their equivalence."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedConfig,
)

import modeling_scratch

from ..bridges.conversion import convert_config, convert_state_dict
from ..utils.errors import DataError
from .data import Batch
from .settings import SEED, Settings

TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2, "float16": 1e-2}  # relative to the largest logit


class Kind(NamedTuple):
    """The classes of both sides and their size fields."""

    native: type
    ours: str
    config: Callable[[Settings], PreTrainedConfig]


def bert(settings: Settings) -> BertConfig:
    shape = settings.shape
    return BertConfig(
        vocab_size=shape.vocab_size, hidden_size=shape.width, num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads, intermediate_size=shape.inner, max_position_embeddings=shape.max_length,
    )  # fmt: skip


def gpt2(settings: Settings) -> GPT2Config:
    shape = settings.shape
    return GPT2Config(
        vocab_size=shape.vocab_size, n_embd=shape.width, n_layer=shape.layers, n_head=shape.heads, n_inner=shape.inner,
        n_positions=shape.max_length, bos_token_id=2, eos_token_id=3, pad_token_id=0,
    )  # fmt: skip


def marian(settings: Settings) -> MarianConfig:
    shape = settings.shape
    return MarianConfig(
        vocab_size=shape.vocab_size, d_model=shape.width, encoder_layers=shape.layers, decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads, decoder_attention_heads=shape.heads, encoder_ffn_dim=shape.inner,
        decoder_ffn_dim=shape.inner, max_position_embeddings=shape.max_length, pad_token_id=0, bos_token_id=2,
        eos_token_id=3, decoder_start_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip


CLASSIFIER = Kind(BertForSequenceClassification, "ScratchEncoderForSequenceClassification", bert)
MASKED_LM = Kind(BertForMaskedLM, "ScratchEncoderForMaskedLM", bert)
DECODER = Kind(GPT2LMHeadModel, "ScratchDecoderForCausalLM", gpt2)
TRANSLATOR = Kind(MarianMTModel, "ScratchSeq2SeqForConditionalGeneration", marian)


def make_peer(kind: Kind, settings: Settings) -> Any:
    """Perturb every parameter: with the default initialisation, different models give nearly equal outputs."""
    torch.manual_seed(SEED)
    peer = kind.native(kind.config(settings))
    with torch.no_grad():
        for parameter in peer.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.08)
    return peer.eval().to(settings.device)


def make_pair(kind: Kind, settings: Settings, **changes: Any) -> tuple[Any, Any]:
    """Build (ours, peer) with equal weights. changes: fields of our config."""
    peer = make_peer(kind, settings)
    ours = getattr(modeling_scratch, kind.ours)(convert_config(peer.config, **changes)).eval().to(settings.device)
    ours.load_state_dict(convert_state_dict(peer.state_dict(), peer.config, type(ours)))
    backends = {model.config._attn_implementation for model in (ours, peer)}
    if backends != {"sdpa"}:
        raise DataError(f"the sides do not both use sdpa, but {' and '.join(sorted(backends))}")
    return ours, peer


@torch.inference_mode()
def check_logits(ours: Any, peer: Any, batch: Batch, own: Batch, settings: Settings, real: Tensor | None = None) -> str:
    """How nearly both answer alike, each to its own form of a batch; raises DataError where they do not.

    Where ours answers the labelled tokens alone, these are compared; of a decoder, those of real (B, T).
    """
    with settings.autocast():
        found, expected = ours(**own), peer(**batch)
    logits = expected.logits
    if logits.shape != found.logits.shape:
        logits = logits[batch["labels"] != -100]
    own_logits = found.logits
    if real is not None and real.shape == logits.shape[:2]:
        own_logits, logits = own_logits[real.bool()], logits[real.bool()]
    message = difference(own_logits, logits, settings.dtype)
    if expected.loss is not None:
        difference(found.loss, expected.loss, settings.dtype)
    return message


def difference(found: Tensor, expected: Tensor, dtype: str) -> str:
    """Return the largest difference of outputs. Raises DataError if it exceeds rounding."""
    found, expected = found.float(), expected.float()
    if found.shape != expected.shape:
        raise DataError(f"output shape {tuple(found.shape)} differs from the peer's {tuple(expected.shape)}")
    largest, scale = (found - expected).abs().max().item(), expected.abs().max().item()
    if not largest <= TOLERANCE[dtype] * max(scale, 1.0):
        raise DataError(f"outputs differ by {largest:.2g} (largest output {scale:.2g}); not timed")
    return f"logits differ by at most {largest:.1g} of {scale:.1f}"


def training_step(model: Any, settings: Settings) -> Callable[[Batch], None]:
    """A training step as in Trainer, without its overhead: forward, backward, clipping at 1.0 and fused AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    model.train()
    scaler = torch.amp.GradScaler(settings.device, enabled=settings.dtype == "float16")

    def step(batch: Batch) -> None:
        with settings.autocast():
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return step
