# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A plot of accuracy against minutes of training, from the folders of runs with recipes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..utils.errors import DataError
from .plots import BLUE, GREEN, VERMILION, new_figure, write_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"minutes": BLUE, "hour": VERMILION, "night": GREEN}
STYLES = ":", "--", "-."  # of the linear models
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
            curve += [(minutes + after, accuracy) for after, accuracy in _evaluations(folder, stage["name"])]
            minutes += stage["minutes"]
        was_resumed = any(stage["since"] for stage in evaluation["stages"])
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: not the folder of a finished run with --recipe ({error})") from error
    if was_resumed:
        raise DataError(f"{folder}: this run was resumed, and does not know the minutes before")
    return RecipeRun(recipe, curve, minutes, evaluation)


def _evaluations(folder: Path, stage: str) -> list[tuple[float, float]]:
    """Return the minutes and the accuracy of each evaluation of a stage, if it trains a classifier."""
    if stage.startswith("teacher "):
        folder = folder / stage.replace(" ", "-")
    elif stage != "fine-tuning":
        return []
    state, results = (_read(folder / name) for name in ("trainer_state.json", "train_results.json"))
    minutes = results["train_runtime"] / 60 / state["global_step"]
    entries = {entry["step"]: entry["eval_accuracy"] for entry in state["log_history"] if "eval_accuracy" in entry}
    return [(step * minutes, accuracy) for step, accuracy in entries.items()]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def recipe_png(panels: Mapping[str, Sequence[RecipeRun]], path: str | Path) -> None:
    """Draw a panel for each title: curves on validation, points with 95 % intervals on the split of the report.

    The linear models are lines, on the same split as the points: those of the run that has most of them.
    """
    figure = new_figure(6 * len(panels), 5)
    for axes, (title, runs) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items()):
        for run in runs:
            _draw(axes, run)
        split = runs[0].evaluation["split"]
        most = max(runs, key=lambda run: len(run.evaluation["others"])).evaluation
        for rival, style in zip([*most["baselines"], *most["others"]], STYLES):
            axes.axhline(100 * rival["accuracy"], color="black", linestyle=style, linewidth=1, label=rival["name"])
        axes.set_title(f"{title}, {split}" + (" (curves: validation)" if split != "validation" else ""))
        axes.set_xlim(0, 1.2 * max(run.minutes for run in runs))
        axes.set_xlabel("minutes of training, all stages")
        axes.set_ylabel("accuracy (% of texts)")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        handle_of = dict(zip(labels, handles))  # one of equal labels
        axes.legend(handle_of.values(), handle_of.keys(), **BELOW)
    write_png(figure, path)


def _draw(axes: "Axes", run: RecipeRun) -> None:
    color = COLORS.get(run.recipe, "black")
    axes.plot([x for x, _ in run.curve], [100 * y for _, y in run.curve], color=color, marker=".", linewidth=1)
    accuracy, (low, high) = run.evaluation["accuracy"], run.evaluation["accuracy_interval_95"]
    reach = [[100 * (accuracy - low)], [100 * (high - accuracy)]]
    label = f"recipe {run.recipe}"
    axes.errorbar([run.minutes], [100 * accuracy], yerr=reach, color=color, marker="D", capsize=3, label=label)
    axes.annotate(f"{accuracy:.2%}", (run.minutes, 100 * accuracy), (6, 4), textcoords="offset points", color=color)
