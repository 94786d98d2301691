# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model's weights in a form that a web page can hold: floats of 28 bits, shuffled, compressed, as text.

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

MOST_WEIGHTS = 2_500_000  # of a model that is packed; a page of more would pass 13 MB
BITS = 28  # of 32 of each float; with 24, the logits of a translator differ by 0.0001
# The rows that forward.js has, of axes whose rows it computes itself; positions come to it as tables.
ROWS = {
    "hidden_act": {"relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "geglu_tanh", "swiglu"},
    "norm_type": {"layer_norm", "rms_norm"},
    "norm_position": {"pre", "post", "output", "sandwich"},
    "block_type": {"sequential", "parallel"},
    "classifier_pooling": {"first", "mean", "max"},
    "classifier_activation": {"tanh", "relu", "gelu", None},
}


def packed_model(model: ScratchPreTrainedModel, positions: int) -> dict[str, Any] | None:
    """What forward.js needs of a model for texts of up to `positions` tokens; None: it is too large, or has other rows.

    class: the model's; config: its fields; tensors: name -> [first float, shape], tied names alike; data: the floats;
    positions: at most as many as are learned.
    """
    config = model.config
    if any(getattr(config, axis) not in rows for axis, rows in ROWS.items() if hasattr(config, axis)):
        return None
    if config.position_type == "learned":
        positions = min(positions, config.max_position_embeddings)
    weights = {name: value for name, value in model.state_dict().items() if value.is_floating_point()}
    layout, tensors = _laid_out({**weights, **_tables(config, positions), **_biases(model, positions)})
    if sum(tensor.numel() for tensor in tensors) > MOST_WEIGHTS:  # before the floats of a large model are copied
        return None
    floats = np.concatenate([np.zeros(0, np.float32), *(tensor.float().cpu().numpy().ravel() for tensor in tensors)])
    # The fields that these models add to Hugging Face's, which name no folder and no user.
    own = {field.name for field in fields(type(config))} - {field.name for field in fields(PreTrainedConfig)}
    return {
        "class": type(model).__name__,
        "config": {name: getattr(config, name) for name in sorted({*own, "model_type", "is_encoder_decoder"})},
        "tensors": layout,
        "positions": positions,
        "data": packed_floats(floats),
    }


def packed_floats(values: NDArray[np.float32]) -> str:
    """Base64 of gzip of four planes, the lowest bytes of all floats first; the mantissa is rounded to fit `BITS`."""
    words = np.ascontiguousarray(values, dtype="<f4").view("<u4").ravel()
    half, mask = np.uint32(1 << 31 - BITS), np.uint32(0xFFFFFFFF << 32 - BITS & 0xFFFFFFFF)
    words = np.where(np.isfinite(words.view("<f4")), (words + half) & mask, words)
    planes = words.view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(gzip.compress(planes.tobytes(), 6, mtime=0)).decode("ascii")


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
        for name, stack in stacks.items()
        if stack.position_bias is not None
    }


def _laid_out(tensors: Mapping[str, torch.Tensor]) -> tuple[dict[str, list], list[torch.Tensor]]:
    """Name: [first float, shape], and the tensors one after another; tied ones are there once."""
    places: dict[tuple[int, tuple[int, ...]], int] = {}
    values: list[torch.Tensor] = []
    offset, layout = 0, {}
    for name, tensor in tensors.items():
        place = tensor.data_ptr(), tuple(tensor.shape)
        if place not in places:
            places[place] = offset
            values.append(tensor.detach())
            offset += tensor.numel()
        layout[name] = [places[place], list(tensor.shape)]
    return layout, values
