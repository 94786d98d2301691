# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The block as a picture, read off the modules: `python -m modeling_scratch.figures.drawing` writes block.svg.

Each preset is a column, from ids to logits, and all columns have the same rows. Names are those of attributes, sizes
those of weights. A part in the second colour is switched: the field of the config below it differs from the Transformer
of 2017 (presets.vaswani). Sizes of layers and vocabularies are no switches. Models are built on the meta device.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import torch
from torch import nn

from .. import presets
from ..attention import Attention
from ..configuration_scratch import ScratchConfig
from ..layers import OutputNorm, PostNorm, PreNorm, SandwichNorm
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..modeling_encoder import ScratchEncoderForMaskedLM
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from ..positions import POSITION_BIASES

PRESETS: dict[str, Callable[..., Any]] = {
    **presets.ENCODERS,
    **presets.DECODERS,
    **presets.SEQ2SEQS,
    "vaswani_encoder": presets.ENCODERS["vaswani"],
}
DEFAULT = "bert", "gpt2", "llama", "bart"
HEADS = {
    "scratch_encoder": ScratchEncoderForMaskedLM,
    "scratch_decoder": ScratchDecoderForCausalLM,
    "scratch_seq2seq": ScratchSeq2SeqForConditionalGeneration,
}

INK, GREY, RULE, BOX, SWITCHED, TINT, PAPER = (
    "#1f2328", "#59636e", "#d1d9e0", "#f6f8fa", "#bc4c00", "#fff1e5", "#ffffff"
)  # fmt: skip
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS = "-apple-system,BlinkMacSystemFont,'Segoe UI',Helvetica,Arial,sans-serif"
ADVANCE = 0.605  # width of a letter of these fonts, in units of their size
PITCH, FRAME, LEFT, INNER = 246, 234, 26, 198  # widths: column, frame of a block, left edge and width of its boxes
MARGIN, TOP, GAP, ROW, BELOW, BAND = 11, 104, 7, 21, 12, 18  # heights: title, between rows, row, second line, header
THIRD = 62  # width of q_proj, k_proj and v_proj


@dataclass(frozen=True)
class Part:
    """A box: the attribute's name, what is right of it, and below it a switch of the config or else a note.

    is_there: False where the attribute is None or nn.Identity().
    """

    name: str
    detail: str = ""
    switch: str = ""
    note: str = ""
    is_there: bool = True


@dataclass(frozen=True)
class Column:
    """One model: its titles, the parts by the rows in which they stand, and where embeddings and blocks are found."""

    titles: tuple[str, str, str]
    parts: Mapping[str, Part]
    prefix: str
    layers: int


# Rows from ids to logits; a row that no column fills is left out. Frames span the rows of embeddings and of a block.
EMBEDDINGS = ("tokens", "projection_first", "scale", "positions", "token_types", "embedding_norm", "projection")
NORM_ROWS = {PreNorm: "before", PostNorm: "after", OutputNorm: "output", SandwichNorm: "before"}
ATTENTION = ("before", "source", "qkv", "query_key_norm", "rotary", "softmax", "o_proj", "output", "add", "after")
FEED_FORWARD = ("before", "up", "activation", "down", "output", "add", "after")
BLOCK = (
    *(f"attention.{row}" for row in ("residual", *ATTENTION)),
    *(f"cross_attention.{row}" for row in ("residual", *ATTENTION)),
    *(f"feed_forward.{row}" for row in ("residual", *FEED_FORWARD)),
)
HEAD = ("final_norm", "pooled", "pooled_norm", "head_projection", "head_dense", "head_norm", "head")
ROWS = ("input", "embeddings", *EMBEDDINGS, "hidden", "block", *BLOCK, "end", *HEAD, "logits")


def switched(config: ScratchConfig, *fields: str) -> str:
    """The first of these fields that is not as in the Transformer of 2017, with its value."""
    base = presets.vaswani(type(config))
    for field in fields:
        if (value := getattr(config, field)) != getattr(base, field):
            return f'{field}="{value}"' if isinstance(value, str) else f"{field}={value}"
    return ""


def column(name: str, preset: Callable[..., ScratchConfig]) -> Column:
    """What stands where in the model of a preset; of an encoder-decoder, its decoder."""
    config = preset()
    title = re.match(r"[^(;:.]*", getattr(preset, "func", preset).__doc__ or name)[0].strip()
    title = title if len(title) <= 26 and not title.startswith("The ") else name.replace("_", " ").capitalize()
    return columns_of(HEADS[config.model_type], config, title, f"presets.{name}()")[-1]


def columns_of(model_class: type[nn.Module], config: ScratchConfig, title: str, source: str) -> list[Column]:
    """The column of a model with this config; of an encoder-decoder, one for its encoder and one for its decoder."""
    with torch.device("meta"):
        model: Any = model_class(config)
    base, prefix = (model.model, "model") if hasattr(model, "model") else (model, "")
    if not config.is_encoder_decoder:
        return [_column(config, base, prefix, _head(config, model, base), (title, source, model_class.__name__))]
    read = {"logits": Part("encoder_hidden_states", f"(B, S, {config.hidden_size})")}
    heads = {"encoder": _final_norm(config, base.encoder) | read, "decoder": _head(config, model, base.decoder)}
    return [
        _column(config, getattr(base, side), f"{prefix}.{side}".lstrip("."), head,
                (f"{title}, {side}", source, model_class.__name__))
        for side, head in heads.items()
    ]  # fmt: skip


def _column(
    config: ScratchConfig, side: Any, prefix: str, head: dict[str, Part], titles: tuple[str, str, str]
) -> Column:
    blocks = side.stack.layers
    parts = {**_embeddings(config, side.embeddings), **(_block(config, blocks[0]) if len(blocks) else {}), **head}
    return Column(titles, parts, prefix, len(blocks))


def _sizes(layer: nn.Module) -> str:
    """ "in → out" of a projection, "rows × size" of a table."""
    if isinstance(layer, nn.Linear):
        return f"{layer.in_features} → {layer.out_features}"
    return f"{layer.num_embeddings} × {layer.embedding_dim}" if isinstance(layer, nn.Embedding) else ""


def _optional(name: str, layer: Any, detail: str = "", switch: str = "") -> Part:
    """A part that may be None or nn.Identity()."""
    if layer is None or isinstance(layer, nn.Identity):
        return Part(name, type(layer).__name__.removesuffix("Type"), is_there=False)
    return Part(name, detail or _sizes(layer) or type(layer).__name__, switch)


def _embeddings(config: ScratchConfig, embeddings: Any) -> dict[str, Part]:
    position = switched(config, "position_type")
    parts = {
        "input": Part("input_ids", "(B, T)"),
        "embeddings": Part("embeddings", type(embeddings).__name__),
        "tokens": Part("tokens", _sizes(embeddings.tokens)),
        "positions": _optional("+ positions", embeddings.positions, switch=position),
        "token_types": _optional("+ token_types", embeddings.token_types, switch=switched(config, "type_vocab_size")),
        "embedding_norm": _optional("norm", embeddings.norm, switch=switched(config, "embedding_norm")),
        "hidden": Part("", f"(B, T, {config.hidden_size})"),
    }
    if embeddings.sinusoid is not None:
        parts["positions"] = Part("+ sinusoid", "sin, cos", position)
    if embeddings.scale != 1.0:
        parts["scale"] = Part("* scale", f"√{config.hidden_size}", switched(config, "embedding_scale"))
    if not isinstance(embeddings.projection, nn.Identity):
        row = "projection_first" if embeddings.projects_first else "projection"
        parts[row] = Part("projection", _sizes(embeddings.projection), f"embedding_size={config.embedding_size}")
    return parts


def _block(config: ScratchConfig, block: Any) -> dict[str, Part]:
    parts = {"block": Part("stack.layers", type(block).__name__), "end": Part("", f"(B, T, {config.hidden_size})")}
    for name in ("attention", "cross_attention", "feed_forward"):
        layer, residual = getattr(block, name), getattr(block, f"{name}_residual")
        if layer is None:
            parts[f"{name}.residual"] = Part(name, "None", is_there=False)
            continue
        rows = _attention(config, layer, name) if isinstance(layer, Attention) else _feed_forward(config, layer)
        parts |= {f"{name}.{row}": part for row, part in _residual(config, residual, name).items()}
        parts |= {f"{name}.{row}": part for row, part in rows.items()}
    return parts


def _residual(config: ScratchConfig, residual: Any, name: str) -> dict[str, Part]:
    """The norms and the sum around a part; None: the part shares those of attention."""
    if residual is None:
        return {"residual": Part(name, "beside attention", switched(config, "block_type"))}
    position = switched(config, "norm_position")
    norm = Part("norm", type(residual.norm).__name__, switched(config, "norm_type", "norm_position"))
    rows = {NORM_ROWS[type(residual)]: norm, "residual": Part(f"{name}_residual", type(residual).__name__, position)}
    if isinstance(residual, SandwichNorm):
        rows["output"] = Part("output_norm", type(residual.output_norm).__name__, position)
    return rows | {"add": Part("", _equation(residual), position)}


def _equation(residual: nn.Module) -> str:
    """ "x + f(norm(x))", with which the docstring of its class starts."""
    return re.split(r" \([A-Z]", residual.__doc__ or "")[0]


def _attention(config: ScratchConfig, layer: Attention, name: str) -> dict[str, Part]:
    heads, keys = config.num_attention_heads, config.num_key_value_heads
    bias = switched(config, "attention_bias")
    grouped = f", num_key_value_heads={keys}" if keys != heads else ""
    parts = {
        "qkv": Part("q_proj k_proj v_proj", f"{heads} {keys} {keys} {config.head_dim}", grouped[2:] or bias),
        "softmax": Part("softmax(QKᵀ / √D + mask) V", note=f"is_causal={layer.is_causal}{grouped}"),
        "o_proj": Part("o_proj", _sizes(layer.o_proj), bias),
    }
    if name == "cross_attention":
        parts["source"] = Part("encoder_hidden_states")
    elif config.position_type == "rotary":
        parts["rotary"] = Part("rotate(q, k)", switch=switched(config, "position_type"))
    elif config.position_type in POSITION_BIASES:
        switch = switched(config, "position_type")
        parts["softmax"] = Part("softmax(QKᵀ / √D + bias + mask) V", switch=switch, note=f"is_causal={layer.is_causal}")
    if not isinstance(layer.q_norm, nn.Identity):
        parts["query_key_norm"] = Part("q_norm k_norm", type(layer.q_norm).__name__, "query_key_norm=True")
    return parts


def _feed_forward(config: ScratchConfig, layer: Any) -> dict[str, Part]:
    act = getattr(layer.activation, "__name__", "gelu")  # a partial function has no name: gelu, its tanh form
    gated = layer.gate_proj is not None
    return {
        "up": Part("gate_proj up_proj" if gated else "up_proj", _sizes(layer.up_proj), switched(config, "mlp_bias")),
        "activation": Part(f"{act}(gate) * up" if gated else f"{act}(up)", "", switched(config, "hidden_act")),
        "down": Part("down_proj", _sizes(layer.down_proj), switched(config, "mlp_bias")),
    }


def _final_norm(config: ScratchConfig, side: Any) -> dict[str, Part]:
    return {
        "final_norm": _optional("stack.norm", side.stack.norm, switch=switched(config, "norm_type", "norm_position"))
    }


def _head(config: ScratchConfig, model: Any, side: Any) -> dict[str, Part]:
    final = _final_norm(config, side)
    if hasattr(model, "lm_head"):
        return final | _language_model_head(config, model)
    return final | _label_head(config, model)


def _language_model_head(config: ScratchConfig, model: Any) -> dict[str, Part]:
    parts, table, name = {}, model.lm_head, "lm_head"
    if hasattr(table, "dense"):
        parts["head_dense"] = Part("lm_head.dense", _sizes(table.dense), note=f"activation: {config.hidden_act}")
        parts["head_norm"] = Part("lm_head.norm", type(table.norm).__name__)
        table, name = table.decoder, "lm_head.decoder"
    elif isinstance(model.projection, nn.Linear):
        parts["head_projection"] = Part(
            "projection", _sizes(model.projection), f"output_embedding_size={config.output_embedding_size}"
        )
    switch = switched(config, "tie_word_embeddings", *(["lm_head_bias"] if hasattr(config, "lm_head_bias") else []))
    tied = "weight = embeddings.tokens.weight" if config.tie_word_embeddings else ""
    parts["head"] = Part(name, _sizes(table), switch, tied)
    parts["logits"] = Part("logits", f"(B, T, {table.out_features})")
    return parts


def _label_head(config: Any, model: Any) -> dict[str, Part]:
    """The head of a classifier of texts or tokens, or of answer spans; a base model has none."""
    names = [name for name in ("classifier", "score", "qa_outputs") if hasattr(model, name)]
    if not names:
        return {"logits": Part("last_hidden_state", f"(B, T, {config.hidden_size})")}
    (name,), parts = names, dict[str, Part]()
    layer = getattr(model, name)
    is_linear = isinstance(layer, nn.Linear)
    if not is_linear or name == "score":
        parts["pooled"] = Part("pooled", "last" if is_linear else config.classifier_pooling, note="one vector a text")
    if not is_linear:
        parts["pooled_norm"] = _optional(f"{name}.norm", layer.norm, switch=switched(config, "classifier_norm"))
        note = f"activation: {config.classifier_activation}"
        parts["head_dense"] = _optional(f"{name}.dense", layer.dense)
        parts["head_dense"] = replace(parts["head_dense"], note=note)
        layer, name = layer.out_proj, f"{name}.out_proj"
    axes = "B, " if "pooled" in parts else "B, T, "
    return parts | {"head": Part(name, _sizes(layer)), "logits": Part("logits", f"({axes}{layer.out_features})")}


def text(x: float, y: float, content: str, size: float, colour: str = INK, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:.4g}" fill="{colour}"{extra}>{escape(content)}</text>'


def rectangle(x: float, y: float, width: float, height: float, fill: str, stroke: str, extra: str = "") -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} rx="4" fill="{fill}" stroke="{stroke}"{extra}/>'


def path(points: str, colour: str = GREY, extra: str = "") -> str:
    return f'<path d="{points}" fill="none" stroke="{colour}"{extra}/>'


def arrow(x: float, y: float) -> str:
    """Its point down, at y."""
    return f'<path d="M{x:g} {y:g}l-3.5 -6h7z" fill="{GREY}"/>'


def fitted(content: str, size: float, width: float) -> float:
    """The size of letters, smaller where the line would be wider than this."""
    return min(size, width / ADVANCE / max(len(content), 1))


END, MIDDLE, BOLD = ' text-anchor="end"', ' text-anchor="middle"', ' font-weight="600"'


def box(x: float, y: float, width: float, height: float, part: Part) -> list[str]:
    """Name left and detail right, or the name alone in the middle; below it the switch, or the note."""
    stroke, fill = (SWITCHED, TINT) if part.switch else (GREY, BOX)
    size, below = fitted(f"{part.name}   {part.detail}", 10.5, width - 8), part.switch or part.note
    middle = y + height / 2 + (-2.5 if below else 3.5)
    centre, lines = x + width / 2, [rectangle(x, y, width, height, fill, stroke)]
    if part.detail:
        lines.append(text(x + 8, middle, part.name, size, INK, BOLD))
        lines.append(text(x + width - 8, middle, part.detail, size, GREY, END))
    else:
        lines.append(text(centre, middle, part.name, size, INK, BOLD + MIDDLE))
    if below:
        small, colour = fitted(below, 9.5, width - (16 if part.detail else 8)), SWITCHED if part.switch else GREY
        start, anchor = (x + 8, "") if part.detail else (centre, MIDDLE)
        lines.append(text(start, middle + BELOW - 1, below, small, colour, anchor))
    return lines


def half(x: float, y: float, width: float, height: float, name: str, size: str, is_switched: bool) -> list[str]:
    """One of several boxes of a row: the name, and its size below; the switch stands elsewhere in the column."""
    stroke, fill = (SWITCHED, TINT) if is_switched else (GREY, BOX)
    return [
        rectangle(x, y, width, height, fill, stroke),
        text(x + width / 2, y + height / 2 - 2.5, name, fitted(name, 10.5, width - 6), INK, BOLD + MIDDLE),
        text(x + width / 2, y + height / 2 + BELOW - 3.5, size, fitted(size, 9.5, width - 6), GREY, MIDDLE),
    ]


def gate_and_up(x: float, y: float, height: float, part: Part, below: float) -> list[str]:
    """Two projections side by side, whose features are multiplied in the row below."""
    width, drawn = (INNER - 6) / 2, []
    centres = x + LEFT + width / 2, x + LEFT + INNER - width / 2
    drawn.append(path(f"M{centres[0]:g} {below:g}V{y - 4:g}H{centres[1]:g}V{below:g}"))
    drawn.append(rectangle(x + LEFT + width, y - 2, 6, below - y, PAPER, PAPER))
    for centre, name in zip(centres, part.name.split()):
        drawn += half(centre - width / 2, y, width, height, name, part.detail, is_switched=True)
    return drawn


def band(x: float, y: float, width: float, part: Part, right: str) -> list[str]:
    """The header of a frame: name left, class right."""
    if not part.is_there:
        return [
            rectangle(x, y, width, BAND, PAPER, RULE, ' stroke-dasharray="3 3"'),
            text(x + width / 2, y + 12.5, f"{part.name} = {part.detail}", 9.5, GREY, MIDDLE),
        ]
    stroke, fill, ink = (SWITCHED, TINT, SWITCHED) if part.switch else (RULE, RULE, INK)
    return [
        rectangle(x, y, width, BAND, fill, stroke),
        text(x + 7, y + 12.5, part.name, 9.5, INK, BOLD),
        text(x + width - 7, y + 12.5, right, 9.5, ink, END),
    ]


def absent(centre: float, y: float, height: float, part: Part) -> list[str]:
    """What a part is called that is None or nn.Identity(), beside the line that passes it."""
    words = f"{part.name} = {part.detail}".lstrip("+ ")
    return [text(centre + 7, y + height / 2 + 3, words, fitted(words, 9, FRAME - LEFT - INNER / 2 - 8), GREY)]


def query_key_value(x: float, y: float, height: float, part: Part, below: float, crosses: bool) -> list[str]:
    """Three projections and their lines to the row below; in cross-attention keys and values are the encoder's."""
    names, sizes, drawn = part.name.split(), part.detail.split(), []
    centres = [x + LEFT + THIRD / 2 + i * (INNER - THIRD) / 2 for i in range(3)]
    top = y - 5 - (ROW + BELOW if crosses else 0)
    ends = f"M{centres[0]:g} {y:g}V{top:g}H{centres[1] if crosses else centres[2]:g}" + ("" if crosses else f"V{y:g}")
    drawn.append(path(ends))
    for centre, name, heads in zip(centres, names, sizes):
        drawn.append(path(f"M{centre:g} {y + height:g}V{below:g}"))
        drawn += half(centre - THIRD / 2, y, THIRD, height, name, f"{heads} × {sizes[3]}", bool(part.switch))
    return drawn


def source(x: float, part: Part, key: float) -> list[str]:
    """What the encoder read enters from the right, where the stream turns to the query."""
    centre, right = x + LEFT + INNER / 2, x + FRAME
    value = x + LEFT + INNER - THIRD / 2
    return [
        rectangle(centre - 2, key - ROW - BELOW - 4, 4, ROW + BELOW + 3, PAPER, PAPER),
        path(f"M{right:g} {key - 7:g}H{centre:g}V{key:g}M{value:g} {key - 7:g}V{key:g}"),
        text(right - 12, key - 12, part.name, 9.5, INK, END),
    ]


def addition(x: float, y: float, part: Part, split: float) -> list[str]:
    """The residual connection: from where the stream splits, past the layer, to its sum."""
    centre, middle = x + LEFT + INNER / 2, y + ROW / 2
    colour = SWITCHED if part.switch else INK
    return [
        path(f"M{centre:g} {split:g}H{x + 14:g}V{middle:g}H{centre:g}"),
        f'<circle cx="{centre:g}" cy="{middle:g}" r="7" fill="{PAPER}" stroke="{GREY}"/>',
        path(f"M{centre - 4:g} {middle:g}h8m-4 -4v8", INK),
        text(centre + 13, middle + 3.5, part.detail, 9.5, colour),
    ]


def heights(columns: Sequence[Column]) -> dict[str, tuple[float, float]]:
    """Row: (y, height) of those that some column fills."""
    y, places = float(TOP), dict[str, tuple[float, float]]()
    for row in ROWS:
        parts = [each.parts[row] for each in columns if row in each.parts]
        if not any(part.is_there for part in parts):
            continue
        is_band = row in ("embeddings", "block") or row.endswith("residual")
        has_second = any(part.switch or part.note for part in parts) and not row.endswith("add")
        height = BAND if is_band else ROW + (BELOW if has_second or row.endswith(("qkv", "source")) else 0)
        y += 6 if row.endswith("residual") or row == "end" else 0
        places[row] = y, height
        y += height + GAP * (2 if row.endswith("residual") else 1)
    return places


def frames(x: float, places: Mapping[str, tuple[float, float]], each: Column) -> list[str]:
    """Outlines of the embeddings, the block, and the layers in it."""
    drawn = []
    for first, last, inset in (
        ("embeddings", "hidden", 0), ("block", "end", 0), ("attention.residual", "cross_attention.residual", 5),
        ("cross_attention.residual", "feed_forward.residual", 5), ("feed_forward.residual", "end", 5),
    ):  # fmt: skip
        if first not in places or (first in each.parts and not each.parts[first].is_there):
            continue
        last = last if last in places else "feed_forward.residual"
        top, bottom = places[first][0], places[last][0] - (9 if last.endswith("residual") else 2 + inset)
        drawn.append(rectangle(x + inset, top, FRAME - 2 * inset, bottom - top, "none", RULE))
    return drawn


def draw_column(x: float, each: Column, places: Mapping[str, tuple[float, float]]) -> list[str]:
    centre, (bottom, _) = x + LEFT + INNER / 2, places["logits"]
    drawn = [path(f"M{centre:g} {places['input'][0]:g}V{bottom:g}"), *frames(x, places, each), arrow(centre, bottom)]
    for number, (size, extra) in enumerate(((14, f' font-family="{SANS}" font-weight="700"'), (10.5, ""), (9.5, ""))):
        drawn.append(
            text(x, 54 + 16 * number, each.titles[number], fitted(each.titles[number], size, FRAME), INK, extra)
        )
    for row, (y, height) in places.items():
        if row in each.parts:
            drawn += draw_row(x, y, height, row, each, places)
    return drawn


def draw_row(
    x: float, y: float, height: float, row: str, each: Column, places: Mapping[str, tuple[float, float]]
) -> list[str]:
    part, centre, (group, _, kind) = each.parts[row], x + LEFT + INNER / 2, row.partition(".")
    if kind == "residual":
        right = part.detail if part.is_there else ""
        return [*band(x + 5, y, FRAME - 10, part, right), arrow(centre, y)]
    if row in ("embeddings", "block"):
        right = f"{part.detail} × {each.layers}" if row == "block" else part.detail
        return [*band(x, y, FRAME, Part(f"{each.prefix}.{part.name}"), right), arrow(centre, y)]
    if row in ("hidden", "end"):
        return [text(centre + 7, y + height / 2 + 3.5, part.detail, 9.5, GREY)]
    if kind == "add":
        split = places[f"{group}.residual"]
        return addition(x, y, part, split[0] + split[1] + GAP / 2)
    if kind == "qkv":
        below = places[f"{group}.softmax"][0]
        return query_key_value(x, y, height, part, below, f"{group}.source" in each.parts)
    if kind == "source":
        return source(x, part, places[f"{group}.qkv"][0])
    if part.name == "gate_proj up_proj":
        return gate_and_up(x, y, height, part, places[f"{group}.activation"][0])
    if not part.is_there:
        return absent(centre, y, height, part)
    return box(x + LEFT, y, 2 * THIRD + 6 if kind == "rotary" else INNER, height, part)


def legend(width: float, y: float) -> tuple[list[str], float]:
    """What the colours mean, in as many lines as it takes, and where the last of them stands."""
    entries = (
        (BOX, GREY, "", "as in the Transformer of 2017 (presets.vaswani)"),
        (TINT, SWITCHED, "", "switched by the config field below it"),
        (PAPER, RULE, ' stroke-dasharray="3 3"', "None in this model"),
        (PAPER, PAPER, "", "dropout is not drawn"),
    )
    drawn, x = [], float(MARGIN)
    size = min(fitted(words, 11.5, width - MARGIN - 30) for *_, words in entries)
    for fill, stroke, extra, words in entries:
        if x > MARGIN and x + 25 + 6.4 * len(words) > width:
            x, y = float(MARGIN), y + 20
        drawn.append(rectangle(x, y, 18, 12, fill, stroke, extra))
        drawn.append(text(x + 25, y + 10, words, size, INK, f' font-family="{SANS}"'))
        x += 48 + 6.1 * len(words)
    return drawn, y


def draw(presets_: Mapping[str, Callable[..., ScratchConfig]]) -> str:
    """The picture of these presets, side by side, as SVG."""
    return draw_columns([column(name, preset) for name, preset in presets_.items()])


def draw_columns(columns: Sequence[Column]) -> str:
    """The picture of these columns, side by side, as SVG."""
    places = heights(columns)
    width, bottom = 2 * MARGIN + PITCH * len(columns) - (PITCH - FRAME), places["logits"][0] + ROW
    meanings, last = legend(width, bottom + 20)
    size, title = f"{width} {last + 26:g}", "From ids to logits: one block and its switches"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="{MONO}">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{last + 26:g}" rx="8" fill="{PAPER}"/>',
        text(MARGIN, 26, title, fitted(title, 17, width - 2 * MARGIN), INK, f' font-family="{SANS}" font-weight="700"'),
    ]  # fmt: skip
    for number, each in enumerate(columns):
        lines += draw_column(MARGIN + PITCH * number, each, places)
    return "\n".join([*lines, *meanings, "</svg>"]) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--preset", nargs="+", choices=PRESETS, default=DEFAULT, help="columns, from left to right")
    parser.add_argument("--output", type=Path, default=Path(presets.__file__).with_name("block.svg"))
    options = parser.parse_args(arguments)
    options.output.write_text(draw({name: PRESETS[name] for name in options.preset}), encoding="utf-8")


if __name__ == "__main__":
    main()
