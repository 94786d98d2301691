# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures of training: the learning rates of the programs and of the paper of 2017, and the curves of several runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import TrainingArguments, get_scheduler
from transformers.trainer import TRAINER_STATE_NAME

from ..report.comparison import names_of
from ..report.plots import name_steps, percent_formatter, series
from ..run.checkpoints import checkpoints_in
from ..tasks import every
from ..utils.errors import DataError
from ..utils.files import read_json
from .look import COLORS, WIDTH, colors, plain_axes, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS, PAPER_STEPS = 2_000, 20_000
PROGRAMS: dict[str, Callable[..., Any]] = {task.program.replace("_", "-"): task.arguments[-1] for task in every()}
PAPER = (512, 4_000), (512, 8_000), (256, 4_000)  # width, warm-up steps

Log = Sequence[Mapping[str, Any]]  # log_history of trainer_state.json
SHARES = {"accuracy", "f1"}
NAMES = {"bleu": "BLEU", "f1": "F1"}  # of scores that are not written as they are logged
PREFERRED = ("accuracy", "bleu", "f1", "spearman", "average_precision")
NO_SCORES = {"loss", "runtime", "samples_per_second", "steps_per_second", "model_preparation_time"}


def learning_rates(caption: str = "") -> "Figure":
    """Draw the default schedule of each training program, and the paper's for some widths and warm-ups."""
    figure = titled("Learning rates", caption, WIDTH, 6.4)
    ours, paper = figure.subplots(2, 1)
    for (rates, label), color in zip(default_schedules().items(), COLORS):
        ours.plot(rates, color=color, linewidth=1.8, label=label)
    ours.set_title(f"The programs by default, {STEPS:,} steps", fontsize=10)
    ours.set(ylabel="share of the peak", ylim=(0, 1.25))
    for (width, warmup), color in zip(PAPER, COLORS):
        arguments = PROGRAMS["train-translation"](max_steps=PAPER_STEPS, warmup_steps=warmup, report_to="none")
        of_paper = schedule(arguments, arguments.paper_rate(width, 0), PAPER_STEPS)
        paper.plot(of_paper, color=color, linewidth=1.8, label=f"width {width}, {warmup:,} warm-up steps")
    paper.set_title("inverse_sqrt with the peak of Vaswani et al. 2017, equation 3", fontsize=10)
    paper.set(ylabel="learning rate", ylim=(0, None))
    for axes, place, columns in ((ours, "upper center", 3), (paper, "upper right", 1)):
        axes.set_xlabel("optimizer steps")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(left=0)
        plain_axes(axes)
        axes.legend(frameon=False, ncols=columns, loc=place, fontsize=8.5)
    return figure


def default_schedules() -> dict[tuple[float, ...], str]:
    """Return the share of the peak at each step, and the names of the programs and of the schedule."""
    names: dict[tuple[float, ...], list[str]] = {}
    for program, arguments_class in PROGRAMS.items():
        arguments = arguments_class(max_steps=STEPS, report_to="none")
        kind = getattr(arguments.lr_scheduler_type, "value", arguments.lr_scheduler_type)
        names.setdefault(tuple(schedule(arguments, 1.0, STEPS)), [kind]).append(program)
    return {rates: f"{', '.join(programs)}: {kind}" for rates, (kind, *programs) in names.items()}


def schedule(arguments: TrainingArguments, peak: float, steps: int) -> list[float]:
    """Return the learning rate of each step, as Trainer's scheduler of these arguments gives it."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    options: Any = arguments.lr_scheduler_kwargs
    warmup = arguments.get_warmup_steps(steps)
    scheduler: Any = get_scheduler(arguments.lr_scheduler_type, optimizer, warmup, steps, options)
    (factor,) = scheduler.lr_lambdas
    return [peak * factor(step) for step in range(steps + 1)]


def read_logs(folders: Sequence[str]) -> dict[str, Log]:
    """Return the logs of runs by the names of their folders. Raises `DataError` for a folder without one."""
    return dict(zip(names_of(folders), map(read_log, folders)))


def read_log(folder: str | Path) -> Log:
    """Return the log of a run, of its last checkpoint if it is unfinished. Raises `DataError` if there is none."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"--runs {folder}: folder not found")
    states = [place / TRAINER_STATE_NAME for place in (folder, *reversed(checkpoints_in(folder)))]
    if (path := next(filter(Path.is_file, states), None)) is None:
        raise DataError(f"--runs {folder}: no {TRAINER_STATE_NAME}, which training writes; name the folder of a run")
    try:
        log = read_json(path)["log_history"]
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
    curves = {"eval_loss": losses, **{f"eval_{score}": axes for axes, score in zip(others, scores)}}
    for (name, log), color in zip(runs.items(), colors(len(runs))):
        losses.plot(*series(log, "loss"), color=color, linewidth=1, linestyle=":")
        losses.plot([], [], color=color, label=name)
        for key, axes in curves.items():
            axes.plot(*series(log, key), color=color, marker="o", markersize=4)
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
