# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures of positions: encodings, dot products of these, biases of scores, rotary angles for longer texts.

Shapes: T positions, E features, H heads, R rotated features of a head.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..configuration_scratch import ROPE_TYPES, ScratchConfig
from ..embeddings import Embeddings
from ..modeling_base import ScratchPreTrainedModel
from ..positions import SINUSOIDS, Alibi, RelativePositions, alibi_slopes, relative_buckets, rotary, rotate
from .look import COLORS, GREY, WIDTH, colors, plain_axes, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POSITIONS, FEATURES, FURTHEST = 64, 64, 128
MOST_NAMED = 16  # heads in a legend
LINE_WIDTHS = 7, 3.5, 1.2, 1.5  # curves that coincide stay visible
ROPE = {"rope_type": "default", "rope_theta": 10_000.0}
TRAINED, FACTOR = 2048, 4.0
# What each way to stretch needs, with the values of the papers.
STRETCHED: dict[str, Any] = {
    "factor": FACTOR, "original_max_position_embeddings": TRAINED, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
}  # fmt: skip


def learned_positions(model: ScratchPreTrainedModel) -> Tensor | None:
    """Return the table (T, E) of learned positions, from position 0 on; None if the model has no such table."""
    tables = [module for module in model.modules() if isinstance(module, Embeddings) and module.positions is not None]
    return tables[0].positions.weight.detach().float()[tables[0].offset :] if tables else None


def rotary_angles(positions: Tensor, size: int, rope: dict[str, Any], limit: int = TRAINED) -> Tensor:
    """Return the angle in (-pi, pi] by which each pair of features turns: (T,) -> (T, R / 2)."""
    cos, sin = rotary(positions[None], size, rope, limit, torch.float32)
    return torch.atan2(sin, cos)[0, :, 0].chunk(2, dim=-1)[0]


def rope_of(model: ScratchPreTrainedModel | None) -> tuple[dict[str, Any], int, int]:
    """Return rope_parameters, head size and trained length: the model's if its positions are rotary."""
    if model is None or model.config.position_type != "rotary":
        return ROPE, FEATURES, TRAINED
    return model.config.rope_parameters, model.config.head_dim, model.config.max_position_embeddings


def position_encodings(model: ScratchPreTrainedModel | None = None, caption: str = "") -> "Figure":
    """Draw what each kind of position adds to (or does with) the features of a token: a panel for each kind.

    model: whose learned positions or rotary angles are drawn, if it has them.
    """
    figure = titled("Positions: one row for each position, one column for each feature", caption, WIDTH, 6.8)
    positions = torch.arange(POSITIONS)
    panels = list(figure.subplots(2, 2).flat)
    for axes, (name, function) in zip(panels, SINUSOIDS.items()):
        words = "sines and cosines alternate" if name == "sinusoidal" else "sines, then cosines"
        _heatmap(axes, function(positions[None], FEATURES)[0], f"{name}: {words}", "value", 1.0, "RdBu_r")
    rope, size, limit = rope_of(model)
    angles = rotary_angles(positions, size, rope, limit)
    _heatmap(
        panels[2], angles, f"rotary: angles, theta {rope['rope_theta']:,.0f}", "radians", math.pi, "twilight_shifted"
    )
    panels[2].set_xlabel("pair of features of a head")
    table = None if model is None else learned_positions(model)
    if table is None:
        panels[3].axis("off")
        panels[3].text(0.5, 0.5, "learned: this model has no such table", ha="center", color=GREY)
    else:
        most = float(table[:POSITIONS, :FEATURES].abs().max())
        _heatmap(panels[3], table[:POSITIONS, :FEATURES], "learned: rows of a table", "value", most, "RdBu_r")
    return figure


def _heatmap(axes: "Axes", values: Tensor, title: str, unit: str, most: float, colors: str) -> None:
    image = axes.imshow(values.numpy(), aspect="auto", interpolation="none", cmap=colors, vmin=-most, vmax=most)
    axes.get_figure().colorbar(image, ax=axes, label=unit, shrink=0.9)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("feature")
    axes.set_ylabel("position")


def position_products(model: ScratchPreTrainedModel | None = None, caption: str = "") -> "Figure":
    """Draw dot products of the encodings of two positions against their distance, as a share of that at distance 0.

    The mean over all pairs of positions at a distance. Rotary: of a query and a key of ones after rotation.
    """
    figure = titled("Dot product of two positions against their distance", caption, WIDTH, 4.4)
    axes = figure.subplots()
    for (name, encoded), color, width in zip(encodings(model).items(), COLORS, LINE_WIDTHS):
        axes.plot(products_by_distance(encoded), color=color, linewidth=width, label=name)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xlim(0, FURTHEST)
    axes.set_xlabel("distance in tokens")
    axes.set_ylabel("dot product, share of distance 0")
    plain_axes(axes)
    axes.legend(frameon=False)
    return figure


def encodings(model: ScratchPreTrainedModel | None = None) -> dict[str, Tensor]:
    """Return the encoding (T, E) of the first positions by kind. Rotary: a vector of ones, rotated."""
    positions = torch.arange(2 * FURTHEST)[None]
    encoded = {name: function(positions, FEATURES)[0] for name, function in SINUSOIDS.items()}
    rope, size, limit = rope_of(model)
    rotated = rotate(torch.ones(1, 2 * FURTHEST, 1, size), *rotary(positions, size, rope, limit, torch.float32))
    encoded[f"rotary, theta {rope['rope_theta']:,.0f}"] = rotated[0, :, 0]
    if model is not None and (table := learned_positions(model)) is not None:
        encoded["learned"] = table[: 2 * FURTHEST]
    return encoded


def products_by_distance(encoded: Tensor) -> np.ndarray:
    """Return the mean of x_p . x_{p + d} over p for d = 0, 1, ..., divided by that of d = 0. (T, E) -> (distances,)."""
    products = encoded @ encoded.T
    distances = min(FURTHEST + 1, len(encoded))
    means = torch.stack([products.diagonal(distance).mean() for distance in range(distances)])
    return (means / means[0]).numpy()


def position_biases(model: ScratchPreTrainedModel | None = None, caption: str = "") -> "Figure":
    """Draw what positions add to the scores of each head against the distance: ALiBi, and T5's buckets or their values.

    model: whose heads are counted, and whose learned biases are drawn, if it has them.
    """
    figure = titled("Biases of the scores against the distance from query to key", caption, WIDTH, 4.4)
    distances = torch.arange(-FURTHEST, FURTHEST + 1)
    linear, learned = figure.subplots(1, 2)
    heads = 4 if model is None else model.config.num_attention_heads
    biases = Alibi(ScratchConfig(hidden_size=heads, num_attention_heads=heads), is_causal=False)(distances[None])[:, 0]
    slopes = [f"slope 2^-{-math.log2(slope):g}" for slope in alibi_slopes(heads)]
    _lines_of_heads(linear, distances, biases, slopes)
    linear.set_title(f"alibi: one slope for each of {heads} heads", fontsize=10)
    if (biases := _learned_biases(model, distances)) is None:
        for is_causal, color in (False, COLORS[0]), (True, COLORS[1]):
            buckets = relative_buckets(distances, 32, 128, is_causal)
            learned.step(distances, buckets, where="mid", color=color, label="causal" if is_causal else "bidirectional")
        learned.set_title("relative: the bucket, a row of a learned table", fontsize=10)
        learned.legend(frameon=False)
    else:
        _lines_of_heads(learned, distances, biases, [])
        learned.set_title("relative: the learned bias of each head", fontsize=10)
    for axes in (linear, learned):
        axes.set_xlabel("key position - query position")
        plain_axes(axes)
    return figure


def _lines_of_heads(axes: "Axes", distances: Tensor, biases: Tensor, notes: Sequence[str]) -> None:
    """Draw biases (H, distances), and name up to 16 heads, counted from 1."""
    for head, (bias, color, note) in enumerate(zip_longest(biases, colors(len(biases)), notes), 1):
        axes.plot(distances, bias, color=color, linewidth=1, label=": ".join(filter(None, [f"head {head}", note])))
    if len(biases) <= MOST_NAMED:
        axes.legend(frameon=False, fontsize=8, ncols=1 + len(biases) // 9)


def _learned_biases(model: ScratchPreTrainedModel | None, distances: Tensor) -> Tensor | None:
    """Return the biases (H, distances) of the first stack; None: the model has no table."""
    tables = [] if model is None else [each for each in model.modules() if isinstance(each, RelativePositions)]
    return tables[0](distances[None])[:, 0].detach().float() if tables else None


def rope_scaling(caption: str = "") -> "Figure":
    """Draw by how much each rope type divides the angles, against the wavelength of a pair of features."""
    title = f"Rotary angles stretched from {TRAINED:,} to {int(FACTOR * TRAINED):,} tokens"
    figure = titled(title, caption, WIDTH, 4.4)
    axes = figure.subplots()
    usual = first_angles("default")
    for name, color, marker in zip(ROPE_TYPES, COLORS, "osD^v"):
        divided = usual / first_angles(name)
        style: Any = {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.5}
        axes.plot((2 * math.pi / usual).numpy(), divided.numpy(), label=name, **style)
    axes.axvline(TRAINED, color="black", linestyle=":", linewidth=1)
    place: Any = {"transform": axes.get_xaxis_transform(), "va": "top", "ha": "right"}
    axes.text(0.95 * TRAINED, 0.98, "trained length", **place)
    axes.set_xscale("log")
    axes.set_xlabel("wavelength of the pair of features, tokens for a full turn")
    axes.set_ylabel("the angle is divided by")
    plain_axes(axes)
    axes.legend(frameon=False)
    return figure


def first_angles(rope_type: str) -> Tensor:
    """Return the angles (R / 2,) between neighbours in a text of FACTOR times the trained length."""
    positions = torch.tensor([1, int(FACTOR * TRAINED) - 1])
    return F.relu(rotary_angles(positions, FEATURES, {**ROPE, **STRETCHED, "rope_type": rope_type})[0])
