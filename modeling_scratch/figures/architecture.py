# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What stands where in a model from ids to logits, read off its modules; drawing.py makes a picture of it.

Names are those of attributes, sizes those of weights. A
part is switched if the field of the config below it differs from the Transformer of 2017 (presets.vaswani). Sizes of
layers and vocabularies are no switches. Models are built on the meta device.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from .. import presets
from ..attention import Attention
from ..configuration_scratch import ScratchConfig
from ..layers import OutputNorm, PostNorm, PreNorm, SandwichNorm
from ..positions import POSITION_BIASES
from .drawing import LAYERS, Column, Part, draw_columns
from .models import DEFAULT, HEADS, PRESETS

NORM_ROWS = {PreNorm: "before", PostNorm: "after", OutputNorm: "output", SandwichNorm: "before"}


def architecture(model: Any = None, name: str = "", names: Sequence[str] = DEFAULT) -> str:
    """Return the picture of a model as SVG, or that of presets side by side, with the switches of each in orange."""
    if model is None:
        return draw_columns(preset_columns(names))
    return draw_columns(columns_of(model.config, name, model_class=type(model)))


def columns_of(config: ScratchConfig, name: str, source: str = "", model_class: Any = None) -> list[Column]:
    """Return the column of a config, or those of encoder and decoder. model_class: None: with its language model head.

    source: the second title, by default the class of the config.
    """
    with torch.device("meta"):
        model = (model_class or HEADS[config.model_type])(config)
    base, prefix = (model.model, "model") if hasattr(model, "model") else (model, "")
    titles = source or type(config).__name__, type(model).__name__
    if not config.is_encoder_decoder:
        return [_column(config, base, prefix, _head(config, model), (name, *titles))]
    heads = {
        "encoder": {"logits": Part("encoder_hidden_states", f"(B, S, {config.hidden_size})")},
        "decoder": _head(config, model),
    }
    return [
        _column(config, getattr(base, side), f"{prefix}.{side}".lstrip("."), head, (f"{name}, {side}", *titles))
        for side, head in heads.items()
    ]


def preset_columns(names: Sequence[str]) -> list[Column]:
    """Return the column of each preset, of an encoder-decoder its decoder; of a single encoder-decoder both sides."""
    found = [columns_of(PRESETS[name](), _title(name), f"presets.{name}()") for name in names]
    return found[0] if len(found) == 1 else [columns[-1] for columns in found]


def _title(name: str) -> str:
    """The start of the preset's docstring, or its name."""
    preset: Any = PRESETS[name]
    title = re.split(r"[(;:.]", getattr(preset, "func", preset).__doc__ or name)[0].strip()
    return title if len(title) <= 26 and not title.startswith("The ") else name.replace("_", " ").capitalize()


def _column(
    config: ScratchConfig, side: Any, prefix: str, head: dict[str, Part], titles: tuple[str, str, str]
) -> Column:
    blocks = side.stack.layers
    final_norm = _part(config, "stack.norm", side.stack.norm, "norm_type", "norm_position")
    parts = {
        "input": Part("input_ids", "(B, T)"),
        **_embeddings(config, side.embeddings),
        **(_block(config, blocks[0]) if len(blocks) else {}),
        "final_norm": final_norm,
        **head,
    }
    return Column(titles, parts, prefix, len(blocks))


def switched(config: ScratchConfig, *fields: str) -> str:
    """Return the first of these fields that is not as in the Transformer of 2017, with its value."""
    base = presets.vaswani(type(config))
    for field in fields:
        if (value := getattr(config, field)) != getattr(base, field):
            return f'{field}="{value}"' if isinstance(value, str) else f"{field}={value}"
    return ""


def _part(config: ScratchConfig, name: str, layer: Any, *fields: str, **given: str) -> Part:
    """A layer with its sizes or its class, and the first of these fields that is switched; `given` takes precedence."""
    if layer is None or isinstance(layer, nn.Identity):
        return Part(name, type(layer).__name__.removesuffix("Type"), is_there=False)
    part = Part(name, _sizes(layer) or type(layer).__name__, switched(config, *fields))
    return replace(part, **given)  # type: ignore[arg-type]


def _sizes(layer: nn.Module) -> str:
    """ "in → out" of a projection, "rows × size" of a table."""
    if isinstance(layer, nn.Linear):
        return f"{layer.in_features} → {layer.out_features}"
    return f"{layer.num_embeddings} × {layer.embedding_dim}" if isinstance(layer, nn.Embedding) else ""


def _embeddings(config: ScratchConfig, embeddings: Any) -> dict[str, Part]:
    parts = {
        "embeddings": Part("embeddings", type(embeddings).__name__),
        "tokens": _part(config, "tokens", embeddings.tokens),
        "positions": _part(config, "+ positions", embeddings.positions, "position_type"),
        "token_types": _part(config, "+ token_types", embeddings.token_types, "type_vocab_size"),
        "embedding_norm": _part(config, "norm", embeddings.norm, "embedding_norm"),
        "hidden": Part("", f"(B, T, {config.hidden_size})"),
    }
    if embeddings.sinusoid is not None:
        parts["positions"] = Part("+ sinusoid", "sin, cos", switched(config, "position_type"))
    if embeddings.scale != 1.0:
        parts["scale"] = Part("* scale", f"√{config.hidden_size}", switched(config, "embedding_scale"))
    if not isinstance(embeddings.projection, nn.Identity):
        row = "projection_first" if embeddings.projects_first else "projection"
        switch = f"embedding_size={config.embedding_size}"
        parts[row] = _part(config, "projection", embeddings.projection, switch=switch)
    return parts


def _block(config: ScratchConfig, block: Any) -> dict[str, Part]:
    parts = {"block": Part("stack.layers", type(block).__name__), "end": Part("", f"(B, T, {config.hidden_size})")}
    for name in LAYERS:
        layer = getattr(block, name)
        if layer is None:
            parts[f"{name}.residual"] = Part(name, "None", is_there=False)
            continue
        inside = _feed_forward(config, layer) if name == "feed_forward" else _attention(config, layer, name)
        rows = _residual(config, getattr(block, f"{name}_residual"), name) | inside
        parts |= {f"{name}.{row}": part for row, part in rows.items()}
    return parts


def _residual(config: ScratchConfig, residual: Any, name: str) -> dict[str, Part]:
    """The norms and the sum around a part; None: the part shares those of attention."""
    if residual is None:
        return {"residual": Part(name, "beside attention", switched(config, "block_type"))}
    position = switched(config, "norm_position")
    equation = re.split(r" \([A-Z]", residual.__doc__ or "")[0]  # "x + f(norm(x))", with which the docstring starts
    rows = {
        "residual": Part(f"{name}_residual", type(residual).__name__, position),
        NORM_ROWS[type(residual)]: _part(config, "norm", residual.norm, "norm_type", "norm_position"),
        "add": Part("", equation, position),
    }
    if isinstance(residual, SandwichNorm):
        rows["output"] = _part(config, "output_norm", residual.output_norm, "norm_position")
    return rows


def _attention(config: ScratchConfig, layer: Attention, name: str) -> dict[str, Part]:
    heads, keys = config.num_attention_heads, config.num_key_value_heads
    grouped = f"num_key_value_heads={keys}" if keys != heads else ""
    has_bias = name == "attention" and config.position_type in POSITION_BIASES
    note = ", ".join(filter(None, (f"is_causal={layer.is_causal}", grouped)))
    switch = switched(config, "position_type") if has_bias else ""
    shapes = ", ".join(f"{count} × {config.head_dim}" for count in (heads, keys, keys))
    parts = {
        "qkv": Part("q_proj k_proj v_proj", shapes, grouped or switched(config, "attention_bias")),
        "softmax": Part(f"softmax(QKᵀ / √D + {'bias + ' * has_bias}mask) V", switch=switch, note=note),
        "o_proj": _part(config, "o_proj", layer.o_proj, "attention_bias"),
    }
    if name == "cross_attention":
        parts["source"] = Part("encoder_hidden_states")
    elif config.position_type == "rotary":
        parts["rotary"] = Part("rotate(q, k)", switch=switched(config, "position_type"))
    if not isinstance(layer.q_norm, nn.Identity):
        parts["query_key_norm"] = _part(config, "q_norm k_norm", layer.q_norm, "query_key_norm")
    return parts


def _feed_forward(config: ScratchConfig, layer: Any) -> dict[str, Part]:
    function = getattr(layer.activation, "__name__", "gelu")  # a partial function has no name: gelu, its tanh form
    switch, sizes = switched(config, "hidden_act"), _sizes(layer.up_proj)
    down = _part(config, "down_proj", layer.down_proj, "mlp_bias")
    if layer.gate_proj is None:
        up = _part(config, "up_proj", layer.up_proj, "mlp_bias")
        return {"up": up, "activation": Part(f"{function}(up)", switch=switch), "down": down}
    both = Part("gate_proj up_proj", f"{sizes}, {sizes}", switch)
    return {"up": both, "activation": Part(f"{function}(gate) * up", switch=switch), "down": down}


def _head(config: Any, model: Any) -> dict[str, Part]:
    """The layers behind the last norm, and what they give."""
    if hasattr(model, "lm_head"):
        return _language_model_head(config, model)
    names = [name for name in ("classifier", "score", "qa_outputs") if hasattr(model, name)]
    return _label_head(config, model, names[0]) if names else {
        "logits": Part("last_hidden_state", f"(B, T, {config.hidden_size})")
    }  # fmt: skip


def _language_model_head(config: Any, model: Any) -> dict[str, Part]:
    parts, table, name = {}, model.lm_head, "lm_head"
    if hasattr(table, "dense"):
        parts["head_dense"] = _part(config, "lm_head.dense", table.dense, note=f"activation: {config.hidden_act}")
        parts["head_norm"] = _part(config, "lm_head.norm", table.norm)
        table, name = table.decoder, "lm_head.decoder"
    elif isinstance(model.projection, nn.Linear):
        switch = f"output_embedding_size={config.output_embedding_size}"
        parts["head_projection"] = _part(config, "projection", model.projection, switch=switch)
    fields = ["tie_word_embeddings", *(["lm_head_bias"] if hasattr(config, "lm_head_bias") else [])]
    tied = "weight = embeddings.tokens.weight" if config.tie_word_embeddings else ""
    parts["head"] = _part(config, name, table, *fields, note=tied)
    return parts | {"logits": Part("logits", f"(B, T, {table.out_features})")}


def _label_head(config: Any, model: Any, name: str) -> dict[str, Part]:
    """The head of a classifier of texts or tokens, or of answer spans."""
    parts, layer = dict[str, Part](), getattr(model, name)
    is_linear = isinstance(layer, nn.Linear)
    if not is_linear or name == "score":
        parts["pooled"] = Part("pooled", "last" if is_linear else config.classifier_pooling, note="one vector a text")
    if not is_linear:
        parts["pooled_norm"] = _part(config, f"{name}.norm", layer.norm, "classifier_norm")
        note = f"activation: {config.classifier_activation}"
        parts["head_dense"] = _part(config, f"{name}.dense", layer.dense, note=note)
        layer, name = layer.out_proj, f"{name}.out_proj"
    axes = "B, " if "pooled" in parts else "B, T, "
    return parts | {
        "head": _part(config, name, layer),
        "logits": Part("logits", f"({axes}{layer.out_features})"),
    }
