# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A table and a plot of scores against the number of training texts, from the folders of finished runs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil, inf
from pathlib import Path
from statistics import mean, stdev

from modeling_scratch.report.plots import BLUE, VERMILION, new_figure, write_png
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.markdown import table

Scores = Mapping[str, Mapping[int, Sequence[float]]]  # the score of each seed, by model and number of texts
# Of evaluation.json: the F1 is that of the second of two classes, or the macro average.
METRICS = {"accuracy": "accuracy (% of texts)", "f1": "F1 (%)"}
COLORS = BLUE, VERMILION, "#009E73", "#CC79A7", "black"
COLUMNS = 2  # of panels
LABELS_APART = 1.3  # times: of numbers of texts closer together, the largest is labelled


def read_scores(runs: Mapping[str, Sequence[Path]], metric: str = "accuracy") -> Scores:
    """Return the scores of the runs under each name, and those of their baselines under the names of these.

    A baseline that several runs of one seed have is read once, from the first name. Raises `DataError` if a folder
    is not that of a finished run of a classifier.
    """
    scores: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with_baselines = next(iter(runs))
    for name, folders in runs.items():
        for folder in folders:
            texts, score, baselines = _read(folder, metric)
            scores[name][texts].append(score)
            for baseline, of_baseline in baselines.items() if name == with_baselines else ():
                scores[baseline][texts].append(of_baseline)
    return {name: {texts: of_name[texts] for texts in sorted(of_name)} for name, of_name in scores.items()}


def _read(folder: Path, metric: str) -> tuple[int, float, dict[str, float]]:
    try:
        evaluation, record = (_json(folder / name) for name in ("evaluation.json", "run_config.json"))
        baselines = {baseline["name"]: float(baseline[metric]) for baseline in evaluation["baselines"]}
        return int(record["rows"]["train"]), float(evaluation[metric]), baselines
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: not the folder of a finished run of train-classifier ({error})") from error


def _json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def size_table(scores: Scores) -> str:
    """Return a Markdown table with a row for each number of texts: the mean over seeds and the standard deviation."""
    sizes = sorted({texts for of_name in scores.values() for texts in of_name})
    rows = [[f"{texts:,}", *(_cell(of_name.get(texts, ())) for of_name in scores.values())] for texts in sizes]
    return table(["training texts", *scores], rows)


def _cell(scores: Sequence[float]) -> str:
    if not scores:
        return ""
    spread = f" ± {100 * stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{100 * mean(scores):.1f}{spread}"


def size_png(panels: Mapping[str, Scores], path: str | Path, metrics: Mapping[str, str] | None = None) -> None:
    """Draw a panel for each title: the mean score of each model, and a band of one standard deviation.

    metrics: those of the panels that are not about accuracy, by title.
    """
    columns, rows = min(COLUMNS, len(panels)), ceil(len(panels) / COLUMNS)
    figure = new_figure(6 * columns, 4.5 * rows)
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes, (title, scores) in zip(grid, panels.items()):
        for (name, of_name), color in zip(scores.items(), COLORS):
            middle = [100 * mean(values) for values in of_name.values()]
            reach = [100 * stdev(values) if len(values) > 1 else 0.0 for values in of_name.values()]
            axes.plot(list(of_name), middle, color=color, marker=".", label=name)
            low, high = ([m + sign * r for m, r in zip(middle, reach)] for sign in (-1, 1))
            axes.fill_between(list(of_name), low, high, color=color, alpha=0.15, linewidth=0)
        axes.set_xscale("log")
        sizes = sorted({texts for of_name in scores.values() for texts in of_name})
        apart = [texts for texts, larger in zip(sizes, [*sizes[1:], inf]) if larger > LABELS_APART * texts]
        axes.set_xticks(apart, [f"{texts:,}" for texts in apart])
        axes.set_xticks([], minor=True)
        axes.set_title(title)
        axes.set_xlabel("training texts")
        axes.set_ylabel(METRICS[(metrics or {}).get(title, "accuracy")])
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    write_png(figure, path)
