# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of the masks, as the functions of inputs.py make them.

Shapes: B texts, T queries, S keys.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..attention import additive
from ..configuration_scratch import ScratchConfig
from ..inputs import Inputs, cross_attention_mask, eager_config, self_attention_mask
from .look import BLUE, GREY, WIDTH, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAD = "[PAD]"
TEXT, SHORT, TARGET = ["this", "film", "is", "great"], ["it", "bores"], ["<s>", "der", "Film", "ist", "sehr", "gut"]


@dataclass(frozen=True)
class Mask:
    """is_visible (T, S): whether a query sees a key. inputs: what a model reads, for which the mask is."""

    title: str
    is_visible: Tensor
    queries: list[str]
    keys: list[str]
    inputs: Inputs
    is_causal: bool = False
    encoder_mask: Tensor | None = None
    sliding_window: int | None = None


def masks() -> list[Mask]:
    """Return the masks that encoders and decoders make for padded and packed texts."""
    padded, left = [*TEXT, PAD, PAD], [PAD, PAD, *TEXT]
    packed: Any = {"position_ids": torch.tensor([[0, 1, 2, 3, 0, 1]])}
    right_mask, left_mask = (torch.tensor([[int(word != PAD) for word in words]]) for words in (padded, left))
    crossing, states = _inputs(TARGET), torch.zeros(1, len(padded), 1)
    cross = cross_attention_mask(eager_config(ScratchConfig()), crossing, states, right_mask)
    return [
        _of_self("padding\n(encoder)", padded, attention_mask=right_mask),
        _of_self("causal\n(decoder)", padded[:4], is_causal=True),
        _of_self("causal, padding on the left\n(generation)", left, is_causal=True, attention_mask=left_mask),
        _of_self("packed segments\n(encoder)", [*TEXT, *SHORT], **packed),
        _of_self("packed segments, causal\n(decoder)", [*TEXT, *SHORT], is_causal=True, **packed),
        Mask("cross-attention\n(decoder to encoder)", _visible(cross, len(TARGET), len(padded)), TARGET, padded,
             crossing, encoder_mask=right_mask),
        _of_self("sliding window of 1\n(encoder)", TARGET, window=1),
        _of_self("sliding window of 3, causal\n(decoder)", TARGET, is_causal=True, window=3),
    ]  # fmt: skip


def _inputs(words: list[str], **named: Any) -> Inputs:
    return Inputs(torch.arange(len(words))[None], **named)


def _of_self(title: str, words: list[str], is_causal: bool = False, window: int | None = None, **named: Any) -> Mask:
    inputs, config = _inputs(words, **named), ScratchConfig(sliding_window=window)
    mask = self_attention_mask(eager_config(config), inputs, is_causal, layer_type=config.attention_types(1)[0])
    return Mask(title, _visible(mask, len(words), len(words)), words, words, inputs, is_causal, sliding_window=window)


def _visible(mask: Tensor | None, queries: int, keys: int) -> Tensor:
    """Whether the scores stay as they are: (1, 1, T, S) -> (T, S); None: everything is visible."""
    if mask is None:
        return torch.ones(queries, keys, dtype=torch.bool)
    return (additive(mask, torch.float32) == 0)[0, 0].expand(queries, keys)


def attention_masks(caption: str = "") -> "Figure":
    """Draw which query sees which key: a panel for each mask."""
    from matplotlib.colors import ListedColormap

    figure = titled("Masks: which query (row) sees which key (column)", caption, WIDTH * 1.3, 6.0)
    for axes, mask in zip(figure.subplots(2, 4).flat, masks()):
        cells, colors = mask.is_visible.float().numpy(), ListedColormap(["#e8ebee", BLUE])
        axes.pcolormesh(cells, edgecolors="white", linewidth=0.4, cmap=colors, vmin=0, vmax=1)
        axes.invert_yaxis()
        axes.set_title(mask.title, fontsize=10)
        axes.tick_params(length=0)
        axes.tick_params(axis="x", rotation=90)
        for axis, words in ((axes.yaxis, mask.queries), (axes.xaxis, mask.keys)):
            axis.set_ticks([place + 0.5 for place in range(len(words))], labels=words, fontsize=9)
            for label, word in zip(axis.get_ticklabels(), words):
                label.set_color(GREY if word == PAD else "black")
    return figure
