# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Plots of a training run: confusion matrix and learning curves, without a display."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..utils.files import replacing
from ..utils.markdown import excerpt

if TYPE_CHECKING:  # imported lazily: matplotlib takes a second to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"  # Okabe and Ito's colour-blind safe palette

MOST_LABELS_WITH_COUNTS = 30  # smaller cells are illegible
LONGEST_LABEL = 24  # characters


def confusion_matrix_png(matrix: np.ndarray, label_names: Sequence[str], path: str | Path) -> None:
    """Plot counts (true class, predicted class), coloured by fraction of the true class, to the PNG file `path`."""
    from sklearn.metrics import ConfusionMatrixDisplay

    side = float(np.clip(2.5 + 0.55 * len(label_names), 4.5, 14))
    figure, is_small = new_figure(side + 1.2, side), len(label_names) <= MOST_LABELS_WITH_COUNTS
    axes = figure.subplots()
    names = [excerpt(name, LONGEST_LABEL).replace("$", "\\$") for name in label_names]  # literal, not mathematics
    display = ConfusionMatrixDisplay(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1), display_labels=names)
    display.plot(ax=axes, cmap="Blues", im_kw={"vmin": 0, "vmax": 1}, xticks_rotation=45)
    for text, count in zip(display.text_.flat, matrix.flat):
        text.set(text=f"{count:,}" if is_small else "", fontsize=8)
    axes.tick_params(labelsize=10 if is_small else 6)
    for label in axes.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")
    display.im_.colorbar.set_label("fraction of the true class")
    title = f"{matrix.trace() / max(matrix.sum(), 1):.1%} of {matrix.sum():,} examples are correct"
    axes.set(xlabel="predicted class", ylabel="true class", title=title)
    write_png(figure, path)


def losses_and_score_png(
    log_history: Sequence[Mapping[str, Any]], path: str | Path, unit: str, key: str, name: str, is_share: bool = True
) -> None:
    """Plot losses in a unit and the score of a key to the PNG file `path`.

    `log_history` is that of Trainer's state. Non-finite values leave gaps; a panel without values carries a note.
    """
    from matplotlib.ticker import PercentFormatter

    figure = new_figure(8, 7)
    loss_axes, score_axes = figure.subplots(2, 1, sharex=True)
    _plot(loss_axes, log_history, "loss", color=BLUE, marker=".", label="training")
    _plot(loss_axes, log_history, "eval_loss", color=VERMILION, marker="o", label="evaluation")
    _plot(score_axes, log_history, key, color=VERMILION, marker="o", label="evaluation")
    if is_share:
        score_axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=1))
    score_axes.xaxis.set_major_formatter("{x:,.0f}")
    score_axes.set(xlabel="optimizer steps", ylabel=name, xlim=(0, None))
    loss_axes.set_ylabel(unit)
    for axes in (loss_axes, score_axes):
        plain_axes(axes)
        if axes.has_data():
            axes.legend(frameon=False)
        else:
            axes.text(0.5, 0.5, "no finite values logged", ha="center", va="center", transform=axes.transAxes)
    write_png(figure, path)


def new_figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure  # pyplot would keep every figure and may require a display

    return Figure(figsize=(width, height), layout="constrained")


def plain_axes(axes: "Axes") -> None:
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _plot(axes: "Axes", log_history: Sequence[Mapping[str, Any]], key: str, **style: Any) -> None:
    """Plot values by steps. The first entry of a step counts: a later one is of the reloaded best model."""
    values: dict[int, float] = {}
    for entry in log_history:
        if key in entry:
            values.setdefault(entry["step"], float(entry[key]))
    finite = [value if np.isfinite(value) else np.nan for value in values.values()]
    if not np.isnan(finite).all():
        axes.plot([*values], finite, markersize=5, **style)


def write_png(figure: "Figure", path: str | Path) -> None:
    with replacing(Path(path)) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
