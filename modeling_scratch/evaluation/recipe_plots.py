# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A plot of accuracy against minutes of training, of runs that used a recipe, from the files of their folders."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..sharing.model_files import TEACHER
from ..utils.errors import DataError
from .plots import BLUE, VERMILION, new_figure, write_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREEN = "#009E73"
COLORS = {"minutes": BLUE, "hour": VERMILION, "night": GREEN}
STYLES = ":", "--"  # of the linear models
BELOW: dict[str, Any] = {"frameon": False, "loc": "upper center", "bbox_to_anchor": (0.5, -0.13)}


@dataclass(frozen=True)
class RecipeRun:
    """What a finished run has recorded.

    curve: (minutes since the start, validation accuracy) at each evaluation of its classifiers, teachers included.
    minutes: of all stages. evaluation: that of evaluation.json.
    """

    recipe: str
    curve: list[tuple[float, float]]
    minutes: float
    evaluation: Mapping[str, Any]


def read_recipe_run(folder: str | Path) -> RecipeRun:
    """Read the files of a run. Raises `DataError` if they are not those of a finished run with a recipe."""
    folder = Path(folder)
    try:
        evaluation = _read(folder / "evaluation.json")
        recipe = _read(folder / "run_config.json")["recipe"]["recipe"]
        curve, minutes = [], 0.0
        for stage in evaluation["stages"]:
            if (history := _history(folder, stage["name"])) is not None:
                curve += [(minutes + part * stage["minutes"], accuracy) for part, accuracy in history]
            minutes += stage["minutes"]
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: not the folder of a finished run with --recipe ({error})") from error
    return RecipeRun(recipe, curve, minutes, evaluation)


def _history(folder: Path, stage: str) -> list[tuple[float, float]] | None:
    """Return the evaluations of a stage that trains a classifier: the part of its steps that is done, and accuracy."""
    if stage.startswith("teacher"):
        folder = folder / f"{TEACHER}{stage.split()[-1]}"
    elif stage != "fine-tuning":
        return None
    state = _read(folder / "trainer_state.json")
    entries = {entry["step"]: entry["eval_accuracy"] for entry in state["log_history"] if "eval_accuracy" in entry}
    return [(step / state["global_step"], accuracy) for step, accuracy in entries.items()]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def recipe_png(panels: Mapping[str, Sequence[RecipeRun]], path: str | Path) -> None:
    """Draw a panel for each title: curves on validation, points with 95 % intervals on the split of the report.

    The linear models of the first run are lines, on the same split as the points.
    """
    figure = new_figure(6 * len(panels), 5)
    for axes, (title, runs) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items()):
        for run in runs:
            _draw(axes, run)
        split = runs[0].evaluation["split"]
        for baseline, style in zip(runs[0].evaluation["baselines"], STYLES):
            label = f"{baseline['name']}, {split}"
            axes.axhline(100 * baseline["accuracy"], color="black", linestyle=style, linewidth=1, label=label)
        axes.set_title(f"{title}: points and lines on {split}, curves on validation")
        axes.set_xlim(left=0)
        axes.set_xlabel("minutes of training, all stages")
        axes.set_ylabel("accuracy (% of texts)")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(*zip(*dict(zip(labels, zip(handles, labels))).values()), ncols=2, **BELOW)
    write_png(figure, path)


def _draw(axes: "Axes", run: RecipeRun) -> None:
    color = COLORS.get(run.recipe, "black")
    axes.plot([x for x, _ in run.curve], [100 * y for _, y in run.curve], color=color, marker=".", linewidth=1)
    accuracy, (low, high) = run.evaluation["accuracy"], run.evaluation["accuracy_interval_95"]
    reach = [[100 * (accuracy - low)], [100 * (high - accuracy)]]
    label = f"recipe {run.recipe}"
    axes.errorbar([run.minutes], [100 * accuracy], yerr=reach, color=color, marker="D", capsize=3, label=label)
    axes.annotate(f"{accuracy:.2%}", (run.minutes, 100 * accuracy), (6, 4), textcoords="offset points", color=color)
