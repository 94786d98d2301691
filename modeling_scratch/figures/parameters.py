# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of where the parameters of a model are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import nn

from ..layers import RMSNorm
from ..modeling_base import ScratchPreTrainedModel
from .look import COLORS, WIDTH, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = ("embeddings", "attention", "cross-attention", "feed-forward", "norms", "head")
PANEL_HEIGHT = 1.9


def part_of(name: str, module: nn.Module) -> str:
    """Return the part, of PARTS, that a module belongs to. name: its path in the model."""
    places = name.split(".")
    if isinstance(module, nn.LayerNorm | RMSNorm):
        return "norms"
    if "embeddings" in places:
        return "embeddings"
    named = {"cross_attention": "cross-attention", "attention": "attention", "feed_forward": "feed-forward"}
    named["position_bias"] = "attention"
    return next((part for place, part in named.items() if place in places), "head")


def count_parameters(model: ScratchPreTrainedModel) -> dict[str, int]:
    """Return the number of parameters of each part. Tied weights count once, where they come first."""
    counts, seen = dict.fromkeys(PARTS, 0), set()
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                counts[part_of(name, module)] += parameter.numel()
    return counts


def short(count: int) -> str:
    """1234567 -> "1.23 M"."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= 0.9995 * size:  # which is rounded to 1
            return f"{count / size:.3g} {unit}"
    return str(count)


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "< 0.1%"


def parameter_counts(models: Mapping[str, Mapping[str, int]], caption: str = "") -> "Figure":
    """Draw bars of the parameters of each part: a panel for each model. models: counts by part, by name."""
    rows, columns = (len(models) + 1) // 2, min(len(models), 2)
    figure = titled("Parameters by part", caption, WIDTH * 1.3, 0.9 + PANEL_HEIGHT * rows)
    for place, (name, counts) in enumerate(models.items(), 1):
        axes = figure.add_subplot(rows, columns, place)
        total = max(sum(counts.values()), 1)
        parts = {part: count for part, count in counts.items() if count}
        colors = [COLORS[PARTS.index(part)] for part in parts]
        bars = axes.barh(list(parts), [count / total for count in parts.values()], color=colors, height=0.7)
        axes.bar_label(bars, [f"{short(count)} ({_percent(count / total)})" for count in parts.values()], padding=3)
        axes.invert_yaxis()
        axes.set_xlim(0, max(0.85, 1.5 * max(counts.values()) / total))
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.set_title(f"{name}: {sum(counts.values()):,}", fontsize=10, loc="left", parse_math=False)
    return figure
