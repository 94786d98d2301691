# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of the learning curves of several runs, from the folders that the training programs write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers.trainer import TRAINER_STATE_NAME

from ..report.plots import name_steps, percent_formatter, series
from ..run.checkpoints import checkpoints_in
from ..utils.errors import DataError
from .look import COLORS, WIDTH, plain_axes, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Log = Sequence[Mapping[str, Any]]  # log_history of trainer_state.json
SHARES = {"accuracy", "f1"}
NAMES = {"bleu": "BLEU", "f1": "F1"}  # of scores that are not written as they are logged
NO_SCORES = {"loss", "runtime", "samples_per_second", "steps_per_second", "model_preparation_time"}
PREFERRED = ("accuracy", "bleu", "f1", "spearman", "average_precision")


def read_log(folder: str | Path) -> Log:
    """Return the log of a run, of its last checkpoint if it is unfinished. Raises `DataError` if there is none."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"--runs {folder}: folder not found")
    for place in (folder, *reversed(checkpoints_in(folder))):
        path = place / TRAINER_STATE_NAME
        if path.is_file():
            break
    else:
        raise DataError(f"--runs {folder}: no {TRAINER_STATE_NAME}, which training writes; name the folder of a run")
    try:
        log = json.loads(path.read_text(encoding="utf-8"))["log_history"]
        if any(np.isfinite(series(log, key)[1]).any() for key in ("loss", "eval_loss")):
            return log
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"--runs {path}: damaged ({error!r})") from error
    raise DataError(f"--runs {path}: no finite losses were logged; train with a smaller --logging_steps")


def score_of(log: Log) -> str | None:
    """Return the name of the score that evaluation has logged, such as "accuracy"; None: only the loss."""
    names = [name.removeprefix("eval_") for entry in log for name in entry if name.startswith("eval_")]
    found = [name for name in dict.fromkeys(names) if name not in NO_SCORES]
    return min(found, key=lambda name: (*PREFERRED, name).index(name), default=None)


def learning_curves(runs: Mapping[str, Log], caption: str = "") -> "Figure":
    """Draw the losses of each run against optimizer steps, and below a panel for each score of evaluation."""
    scores = list(dict.fromkeys(score for log in runs.values() if (score := score_of(log))))
    figure = titled("Learning curves", caption, WIDTH, 4.2 + 3 * len(scores))
    losses, *others = figure.subplots(1 + len(scores), 1, sharex=True, squeeze=False)[:, 0]
    for (name, log), color in zip(runs.items(), colors(len(runs))):
        _curve(losses, log, "loss", color=color, linewidth=1, linestyle=":")
        _curve(losses, log, "eval_loss", color=color, marker="o")
        losses.plot([], [], color=color, label=name)
        for axes, score in zip(others, scores):
            _curve(axes, log, f"eval_{score}", color=color, marker="o")
    losses.set_ylabel("loss (dotted: training, line: evaluation)")
    for axes, score in zip(others, scores):
        axes.set_ylabel(f"{NAMES.get(score, score)}, evaluation")
        if score in SHARES:
            axes.yaxis.set_major_formatter(percent_formatter(0))
    name_steps([losses, *others][-1])
    for axes in (losses, *others):
        plain_axes(axes)
    for label in losses.legend(frameon=False).texts:
        label.set_parse_math(False)
    return figure


def _curve(axes: "Axes", log: Log, key: str, **style: Any) -> None:
    steps, values = series(log, key)
    if np.isfinite(values).any():
        axes.plot(steps, values, markersize=4, **style)


def colors(count: int) -> list[Any]:
    """Return a colour for each run: of the palette, or of a colour map if there are more runs."""
    if count <= len(COLORS):
        return list(COLORS[:count])
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0, 0.95, count)))
