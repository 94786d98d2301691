# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of the learning rates of the programs, and of those of the paper of 2017."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainingArguments, get_scheduler

from ..tasks import every
from .look import COLORS, WIDTH, plain_axes, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS, PAPER_STEPS = 2_000, 20_000
PROGRAMS: dict[str, Callable[..., Any]] = {task.program.replace("_", "-"): task.arguments[-1] for task in every()}
PAPER = (512, 4_000), (512, 8_000), (256, 4_000)  # width, warm-up steps


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
