# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures of the attention of a model: the weights of its layers and heads for a text.

Shapes: L layers, H heads, T queries, S keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from ..bridges.model_sources import Tokenizers, position_limit
from ..utils.errors import DataError
from .look import WIDTH, draw_cells, name_cells, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TOKENS = 32  # more are illegible
FEW_TOKENS = 14  # of which four panels are legible side by side
SPACE = "␣"
KINDS = {"self": "Self-attention", "causal": "Causal self-attention", "cross": "Cross-attention"}


@dataclass(frozen=True)
class Attention:
    """weights (L, H, T, S): how much each query attends to each key. kind: of KINDS."""

    kind: str
    weights: Tensor
    queries: list[str]
    keys: list[str]


def words_of(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """Return the text of each token; the token itself if it is not a whole character."""
    words = [str(tokenizer.decode([token])).strip() or SPACE for token in ids]
    tokens = tokenizer.convert_ids_to_tokens(list(ids))
    return [token if "\ufffd" in word else word for word, token in zip(words, tokens)]


@torch.inference_mode()
def attention_of(model: Any, tokenizers: Tokenizers, text: str, target: str | None = None) -> list[Attention]:
    """Return the attention of a model that reads a text: of an encoder-decoder three kinds, else one.

    target: what the decoder of an encoder-decoder reads; None: what it generates greedily. Raises `DataError` for a
    text without tokens, or one that is too long to draw, and for a model without attention.
    """
    source, target_tokenizer = tokenizers
    inputs = source(text, return_tensors="pt", return_token_type_ids=False)
    most = min(MOST_TOKENS, position_limit(model.config) or MOST_TOKENS)
    words = _checked_words(source, inputs["input_ids"][0].tolist(), "--text", most)
    if not model.config.is_encoder_decoder:
        outputs = model(**inputs, output_attentions=True)
        kind = "causal" if model.base_model.is_causal else "self"
        return [Attention(kind, _stacked(outputs.attentions), words, words)]
    if target is None:
        read = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=most - 1)[:, :-1]
    else:
        labels = target_tokenizer(text_target=target, return_tensors="pt")["input_ids"]
        read = model.prepare_decoder_input_ids_from_labels(labels)  # the start token, then the target
    written = _checked_words(target_tokenizer, read[0].tolist(), "--target", most)
    outputs = model(**inputs, decoder_input_ids=read, output_attentions=True, use_cache=False)
    return [
        Attention("self", _stacked(outputs.encoder_attentions), words, words),
        Attention("causal", _stacked(outputs.decoder_attentions), written, written),
        Attention("cross", _stacked(outputs.cross_attentions), written, words),
    ]


def _checked_words(tokenizer: PreTrainedTokenizerBase, ids: list[int], option: str, most: int) -> list[str]:
    if not 0 < len(ids) <= most:
        raise DataError(f"{option}: {len(ids)} tokens; the figure shows from 1 to {most}")
    return words_of(tokenizer, ids)


def _stacked(attentions: Any) -> Tensor:
    """(L, H, T, S) of the first text."""
    if not attentions or any(weights is None for weights in attentions):
        raise DataError("the model gives no attention weights: it has no layers")
    return torch.stack([weights[0] for weights in attentions]).float()


def chosen(wanted: Sequence[int] | None, count: int, most: int, option: str) -> list[int]:
    """Return the numbers from 1 that are wanted; None: at most `most`, from the first to the last."""
    if wanted is None:
        return sorted({round(number) for number in np.linspace(1, count, min(count, most))})
    if wrong := [number for number in wanted if not 1 <= number <= count]:
        raise DataError(f"{option} {wrong[0]}: the model has 1 to {count}")
    return list(wanted)


def attention_maps(
    attention: Attention, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None, caption: str = ""
) -> "Figure":
    """Draw a panel for each layer (row) and head (column), numbered from 1; None: up to four of them."""
    longest = max(len(attention.queries), len(attention.keys))
    most = 4 if longest <= FEW_TOKENS else 2
    layers = chosen(layers, attention.weights.shape[0], most, "--layers")
    heads = chosen(heads, attention.weights.shape[1], most, "--heads")
    shown = attention.weights[[number - 1 for number in layers]][:, [number - 1 for number in heads]].numpy()
    panel = (WIDTH - 1.6) / max(len(heads), 2)
    height = 1.6 + len(layers) * (panel * len(attention.queries) / len(attention.keys) + 0.25)
    title = f"{KINDS[attention.kind]}: how much each token (row) attends to each other (column)"
    figure = titled(title, caption, WIDTH, height)
    panels = figure.subplots(len(layers), len(heads), squeeze=False)
    size = min(8.5, 62 * panel / longest)
    for (row, column), axes in np.ndenumerate(panels):
        cells = draw_cells(axes, shown[row, column], cmap="Blues", vmin=0, vmax=shown.max())
        is_left, is_bottom = column == 0, row == len(layers) - 1
        name_cells(axes, attention.queries if is_left else None, attention.keys if is_bottom else None, size)
        axes.set_title(f"layer {layers[row]}, head {heads[column]}", fontsize=9)
    figure.colorbar(cells, ax=panels, label="attention weight", shrink=0.6, aspect=30)
    return figure
