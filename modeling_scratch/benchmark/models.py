# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs of equivalent models, Hugging Face's class and ours, and the check of their equivalence."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor, nn

import modeling_scratch

from .. import presets
from ..bridges.configs import export_config
from ..bridges.conversion import convert_config, convert_state_dict
from ..utils.errors import DataError
from .data import Batch
from .settings import SEED, Settings

TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2, "float16": 1e-2}  # relative to the largest logit


class Kind(NamedTuple):
    """A preset, the name of its family, and that of our class; fields of the config besides its sizes."""

    preset: Callable[..., Any]
    family: str
    ours: str
    fields: dict[str, Any]


IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
OF_MARIAN = IDS | {"decoder_start_token_id": 0, "hidden_act": "gelu", "embedding_scale": False}
CLASSIFIER = Kind(presets.bert, "bert", "ScratchEncoderForSequenceClassification", {})
DECODER = Kind(presets.gpt2, "gpt2", "ScratchDecoderForCausalLM", IDS)
TRANSLATOR = Kind(presets.marian, "marian", "ScratchSeq2SeqForConditionalGeneration", OF_MARIAN)


def make_peer(kind: Kind, settings: Settings) -> Any:
    """Perturb every parameter: with the default initialisation, different models give nearly equal outputs."""
    torch.manual_seed(SEED)
    config = export_config(kind.preset(**settings.shape.fields, **kind.fields), kind.ours, kind.family)
    assert config.architectures is not None
    peer = getattr(transformers, config.architectures[0])(config)
    with torch.no_grad():
        for parameter in peer.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.08)
    return peer.eval().to(settings.device)


def make_pair(kind: Kind, settings: Settings) -> tuple[Any, Any]:
    """Build (ours, peer) with equal weights."""
    peer = make_peer(kind, settings)
    ours = getattr(modeling_scratch, kind.ours)(convert_config(peer.config)).eval().to(settings.device)
    ours.load_state_dict(convert_state_dict(peer.state_dict(), peer.config, type(ours)))
    backends = {model.config._attn_implementation for model in (ours, peer)}
    if backends != {"sdpa"}:
        raise DataError(f"the sides do not both use sdpa, but {' and '.join(sorted(backends))}")
    return ours, peer


@torch.inference_mode()
def check_logits(ours: Any, peer: Any, batch: Batch, own: Batch, settings: Settings, real: Tensor | None = None) -> str:
    """How nearly both answer alike, each to its own form of a batch; raises DataError where they do not.

    Of a decoder, the logits of real (B, T) are compared.
    """
    with settings.autocast():
        found, expected = ours(**own), peer(**batch)
    logits = found.logits, expected.logits
    if real is not None and real.shape == expected.logits.shape[:2]:
        logits = found.logits[real.bool()], expected.logits[real.bool()]
    if expected.loss is not None:
        difference(found.loss, expected.loss, settings.dtype)
    return difference(*logits, settings.dtype)


def difference(found: Tensor, expected: Tensor, dtype: str) -> str:
    """Return the largest difference of outputs. Raises DataError if it exceeds rounding."""
    largest, scale = (found.float() - expected.float()).abs().max().item(), expected.abs().max().item()
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
