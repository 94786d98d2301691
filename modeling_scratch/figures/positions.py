# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures of positions: encodings, rotary angles, and biases of scores.

Shapes: T positions, E features, H heads, R rotated features of a head.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..configuration_scratch import ScratchConfig
from ..embeddings import Embeddings
from ..modeling_base import ScratchPreTrainedModel
from ..positions import SINUSOIDS, Alibi, RelativePositions, alibi_slopes, relative_buckets, rotary
from ..report.plots import plain_axes
from .look import COLORS, GREY, WIDTH, colors, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POSITIONS, FEATURES, FURTHEST = 64, 64, 128
MOST_NAMED = 16  # heads in a legend
ROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 10_000.0}
TRAINED = 2048


def learned_positions(model: ScratchPreTrainedModel) -> Tensor | None:
    """Return the table (T, E) of learned positions, from position 0 on; None if the model has no such table."""
    tables = [module for module in model.modules() if isinstance(module, Embeddings) and module.positions is not None]
    return tables[0].positions.weight.detach().float()[tables[0].offset :] if tables else None


def rotary_angles(model: ScratchPreTrainedModel, positions: Tensor) -> tuple[Tensor, float]:
    """Return the angle in (-pi, pi] by which each pair of features turns, (T,) -> (T, R / 2), and theta.

    They are those of the model if its positions are rotary, else the usual ones.
    """
    config, rope, size, trained = model.config, ROPE, FEATURES, TRAINED
    if config.position_type == "rotary":
        rope, size, trained = config.rope_parameters, config.head_dim, config.max_position_embeddings
    cos, sin = rotary(positions[None], size, rope, trained, torch.float32)
    return torch.atan2(sin, cos)[0, :, 0].chunk(2, dim=-1)[0], rope["rope_theta"]


def position_encodings(model: ScratchPreTrainedModel, caption: str = "") -> "Figure":
    """Draw what each kind of position adds to (or does with) the features of a token: a panel for each kind.

    model: whose learned positions or rotary angles are drawn, if it has them.
    """
    figure = titled("Positions: one row for each position, one column for each feature", caption, WIDTH, 6.8)
    positions = torch.arange(POSITIONS)
    panels = list(figure.subplots(2, 2).flat)
    for axes, (name, function) in zip(panels, SINUSOIDS.items()):
        words = "sines and cosines alternate" if name == "sinusoidal" else "sines, then cosines"
        _heatmap(axes, function(positions[None], FEATURES)[0], f"{name}: {words}", "value", 1.0, "RdBu_r")
    angles, theta = rotary_angles(model, positions)
    _heatmap(panels[2], angles, f"rotary: angles, theta {theta:,.0f}", "radians", math.pi, "twilight_shifted")
    panels[2].set_xlabel("pair of features of a head")
    if (table := learned_positions(model)) is None:
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


def position_biases(model: ScratchPreTrainedModel, caption: str = "") -> "Figure":
    """Draw what positions add to the scores of each head against the distance: ALiBi, and T5's buckets or their values.

    model: whose heads are counted, and whose learned biases are drawn, if it has them.
    """
    figure = titled("Biases of the scores against the distance from query to key", caption, WIDTH, 4.4)
    distances = torch.arange(-FURTHEST, FURTHEST + 1)
    linear, learned = figure.subplots(1, 2)
    heads = model.config.num_attention_heads
    biases = Alibi(ScratchConfig(hidden_size=heads, num_attention_heads=heads), is_causal=False)(distances[None])[:, 0]
    slopes = [f"slope 2^-{-math.log2(slope):g}" for slope in alibi_slopes(heads)]
    _lines_of_heads(linear, distances, biases, slopes)
    linear.set_title(f"alibi: one slope for each of {heads} heads", fontsize=10)
    tables = [each for each in model.modules() if isinstance(each, RelativePositions)]
    if not tables:
        for is_causal, color in (False, COLORS[0]), (True, COLORS[1]):
            buckets = relative_buckets(distances, 32, 128, is_causal)
            learned.step(distances, buckets, where="mid", color=color, label="causal" if is_causal else "bidirectional")
        learned.set_title("relative: the bucket, a row of a learned table", fontsize=10)
        learned.legend(frameon=False)
    else:
        _lines_of_heads(learned, distances, tables[0](distances[None])[:, 0].detach().float(), [])
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
