# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model's weights in a form that a web page can hold: floats of fewer bits, shuffled, compressed, as text.

A page of a million parameters stays below 5 MB. forward.js computes with what it unpacks.
"""

import base64
import gzip
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedConfig

from ..configuration_scratch import ScratchConfig
from ..modeling_base import ScratchPreTrainedModel
from ..positions import SINUSOIDS, rotary_cos_sin
from ..stack import Stack

Floats = NDArray[np.float32]

MOST_WEIGHTS = 2_500_000  # of a model that is packed; a page of more would pass 13 MB
FEWEST_BITS = 24  # of a float: sign, 8 of the exponent, 15 of the mantissa; the relative error is 2^-16
BITS_OF_A_PAGE = 25_000_000  # of weights; the rest of 5 MB is for what was recorded
# The rows that forward.js has, of axes whose rows it computes itself; positions come to it as tables.
ROWS = {
    "hidden_act": {"relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "geglu_tanh", "swiglu"},
    "norm_type": {"layer_norm", "rms_norm"},
    "norm_position": {"pre", "post", "output", "sandwich"},
    "block_type": {"sequential", "parallel"},
    "classifier_pooling": {"first", "mean", "max"},
    "classifier_activation": {"tanh", "relu", "gelu", None},
}
BITS_OF_LARGE_MODELS = 28  # whose pages pass 5 MB: with 24, the logits of a translator differ by 0.0001


def kept_bits(count: int) -> int:
    """How many of the 32 bits of each of `count` floats a page keeps: as many as fit into 5 MB, at least FEWEST_BITS.

    Where fewer would fit, the page is larger than 5 MB in any case, and keeps BITS_OF_LARGE_MODELS.
    """
    fitting = min(32, BITS_OF_A_PAGE // max(count, 1))
    return fitting if fitting >= FEWEST_BITS else BITS_OF_LARGE_MODELS


def packed_floats(values: Floats, bits: int = 32) -> str:
    """Base64 of gzip of four planes, the lowest bytes of all floats first; the mantissa is rounded to fit `bits`."""
    words = np.ascontiguousarray(values, dtype="<f4").view("<u4").ravel()
    if bits < 32:
        half, mask = np.uint32(1 << 31 - bits), np.uint32(0xFFFFFFFF << 32 - bits & 0xFFFFFFFF)
        words = np.where(np.isfinite(words.view("<f4")), (words + half) & mask, words)
    planes = words.view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(gzip.compress(planes.tobytes(), 6, mtime=0)).decode("ascii")


def packed_model(model: ScratchPreTrainedModel, positions: int) -> dict[str, Any] | None:
    """What forward.js needs of a model for texts of up to `positions` tokens; None: it is too large, or has other rows.

    class: the model's; config: its fields; tensors: name -> [first float, shape], tied names alike; data: the floats;
    positions: at most as many as are learned.
    """
    if any(getattr(model.config, axis) not in rows for axis, rows in ROWS.items() if hasattr(model.config, axis)):
        return None
    if model.config.position_type == "learned":
        positions = min(positions, model.config.max_position_embeddings)
    layout, tensors = _laid_out({**_weights(model), **_tables(model.config, positions), **_biases(model, positions)})
    count = sum(tensor.numel() for tensor in tensors)
    if count > MOST_WEIGHTS:  # before the floats of a large model are copied
        return None
    floats = np.concatenate([np.zeros(0, np.float32), *(tensor.float().cpu().numpy().ravel() for tensor in tensors)])
    bits = kept_bits(count)
    return {
        "class": type(model).__name__, "config": architecture(model.config),
        "tensors": layout, "bits": bits, "positions": positions, "data": packed_floats(floats, bits),
    }  # fmt: skip


def architecture(config: ScratchConfig) -> dict[str, Any]:
    """The fields that these models add to Hugging Face's, which name no folder and no user, and the labels."""
    own = {field.name for field in fields(type(config))} - {field.name for field in fields(PreTrainedConfig)}
    named = {name: getattr(config, name) for name in sorted(own)}
    return {**named, "model_type": config.model_type, "is_encoder_decoder": config.is_encoder_decoder,
            "id2label": {int(number): str(name) for number, name in (config.id2label or {}).items()}}  # fmt: skip


def _weights(model: ScratchPreTrainedModel) -> dict[str, torch.Tensor]:
    return {name: value for name, value in model.state_dict().items() if value.is_floating_point()}


def _tables(config: ScratchConfig, positions: int) -> dict[str, torch.Tensor]:
    """Sinusoids and rotary angles by the textbook's own functions, so that JavaScript needs no kind of scaling."""
    position_ids, tables = torch.arange(positions)[None], {}
    if (sinusoid := SINUSOIDS.get(config.position_type)) is not None:
        size = config.hidden_size if config.positions_after_projection else config.embedding_size
        tables["tables.sinusoid"] = sinusoid(position_ids, size)[0]
    for kind in ("full_attention", "sliding_attention"):
        if (angles := rotary_cos_sin(config, position_ids, torch.float32, kind)) is not None:
            tables |= {f"tables.{kind}.{name}": angle[0, :, 0] for name, angle in zip(("cos", "sin"), angles)}
    return tables


def _biases(model: ScratchPreTrainedModel, positions: int) -> dict[str, torch.Tensor]:
    """What positions add to the scores of each head (H, distances), of each stack, from distance 1 - positions on."""
    distances = torch.arange(1 - positions, positions)[None]
    stacks = {name: module for name, module in model.named_modules() if isinstance(module, Stack)}
    return {
        f"tables.{name}.position_bias": stack.position_bias(distances)[:, 0].detach()
        for name, stack in stacks.items() if stack.position_bias is not None
    }  # fmt: skip


def _laid_out(tensors: Mapping[str, torch.Tensor]) -> tuple[dict[str, list], list[torch.Tensor]]:
    """Name: [first float, shape], and the tensors one after another; tied ones are there once."""
    places: dict[tuple[int, tuple[int, ...]], int] = {}
    layout: dict[str, list] = {}
    values: list[torch.Tensor] = []
    offset = 0
    for name, tensor in tensors.items():
        place = tensor.data_ptr(), tuple(tensor.shape)
        if place not in places:
            places[place] = offset
            values.append(tensor.detach())
            offset += tensor.numel()
        layout[name] = [places[place], list(tensor.shape)]
    return layout, values
