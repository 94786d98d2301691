# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of token embeddings in two dimensions.

Shapes: V tokens, E features.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from ..utils.errors import DataError
from .attention_maps import words_of
from .look import BLUE, GREY, VERMILION, WIDTH, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

MOST_POINTS, MOST_LABELS = 500, 60
WORD_STARTS = "Ġ", "▁"  # of byte-level BPE and of SentencePiece
SIDES = {(5, 0): "left", (-5, 0): "right", (0, 7): "center", (0, -7): "center"}  # of a point, in points of type


def frequent_words(tokenizer: PreTrainedTokenizerBase, most: int = MOST_POINTS) -> dict[str, int]:
    """Return the first words of the vocabulary and their ids. Trainers of tokenizers sort it by frequency.

    Words have two letters or more, and no other characters. If the vocabulary marks the tokens that start a word, only
    these are words.
    """
    special = set(tokenizer.all_special_ids)
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    starts = [token for token, name in enumerate(tokens) if str(name).startswith(WORD_STARTS)]
    ids = [token for token in starts or range(len(tokenizer)) if token not in special]
    found: dict[str, int] = {}
    for word, token in zip(words_of(tokenizer, ids), ids):
        if word.isalpha() and len(word) > 1 and len(found) < most:
            found.setdefault(word, token)
    return found


def ids_of(tokenizer: PreTrainedTokenizerBase, words: Sequence[str]) -> dict[str, int]:
    """Return the ids of words that are one token each. Raises `DataError` for any other word."""
    found = {}
    for word in words:
        ids = tokenizer(word, add_special_tokens=False)["input_ids"]
        spaced = tokenizer(f" {word}", add_special_tokens=False)["input_ids"]  # inside a text, in byte-level BPE
        ids = spaced if len(spaced) == 1 else ids
        if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
            fault = "not in the vocabulary" if tokenizer.unk_token_id in ids else f"{len(ids)} tokens, not one"
            raise DataError(f"--words {word}: {fault}")
        found[word] = ids[0]
    return found


def projected(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two first principal components (V, 2) and the shares of the variance (2,) that they explain."""
    from sklearn.decomposition import PCA

    pca = PCA(n_components=2, svd_solver="full")
    return pca.fit_transform(vectors), pca.explained_variance_ratio_


def embedding_map(table: Tensor, words: dict[str, int], given: Sequence[str] = (), caption: str = "") -> "Figure":
    """Draw the embeddings of words in their two first principal components.

    table (V, E). words: their ids. given: the words to label; none: the first, as far as labels do not overlap.
    """
    if len(words) < 3 or table.shape[1] < 2:
        raise DataError(f"{len(words)} words with {table.shape[1]} features: the figure needs 3 words and 2 features")
    points, shares = projected(table[list(words.values())].detach().double().numpy())
    figure = titled("Embeddings of tokens in two dimensions", caption, WIDTH, 6.6)
    axes = figure.subplots()
    marked = np.isin(list(words), list(given))
    axes.scatter(points[~marked, 0], points[~marked, 1], s=10, color=BLUE, alpha=0.45, linewidths=0)
    axes.scatter(points[marked, 0], points[marked, 1], s=22, color=VERMILION, linewidths=0)
    for name, share in zip(("x", "y"), shares):
        component = "first" if name == "x" else "second"
        axes.set(**{f"{name}label": f"{component} principal component, {share:.1%} of the variance"})
    axes.margins(0.06)
    axes.spines[["top", "right"]].set_visible(False)
    labels = {word: point for word, point in zip(words, points) if not given or word in given}
    figure.draw_without_rendering()  # places the axes, so that labels can be measured
    _label(axes, labels, len(given) or MOST_LABELS, VERMILION if given else "black")
    return figure


def _label(axes: "Axes", labels: dict[str, Any], most: int, color: str) -> None:
    """Write words beside their points, on a side where they overlap no earlier word; else not at all."""
    taken: list[Bbox] = []
    for word, point in labels.items():
        if len(taken) == most:
            break
        for offset, side in SIDES.items():
            text = axes.annotate(
                word, point, offset, textcoords="offset points", ha=side, va="center", fontsize=8.5, color=color,
                parse_math=False,
            )  # fmt: skip
            box = text.get_window_extent().padded(1)
            is_inside = axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1
            if is_inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
    if len(taken) < min(most, len(labels)) and color == VERMILION:
        left_out = f"{min(most, len(labels)) - len(taken)} labels would overlap others and are left out"
        axes.set_title(left_out, fontsize=9, color=GREY, loc="right")
