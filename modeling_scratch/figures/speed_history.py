# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of how the ratios of the benchmark have changed from version to version."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..benchmark.history import read_history
from ..utils.errors import DataError
from .look import colors, plain_axes, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Entry = Mapping[str, Any]  # a line of the history
WIDTH, ROW_HEIGHT, LABEL = 9.5, 0.34, 56  # inches, inches, characters a line
SPREAD = 0.6  # of a row, for the dots of all lines


def lines_of(name: str) -> Sequence[Entry]:
    """Return the lines of the file of --history. Raises `DataError` if there are none."""
    if not (entries := read_history(Path(name))):
        raise DataError(f"--history {name}: not found, or without a line; benchmark --history writes one")
    return entries


def speed_history(entries: Sequence[Entry], caption: str = "") -> "Figure":
    """Draw the ratio of ours to the peer's for each workload: a row for each, a colour for each line of the history.

    Rates, of which more is better, are in the upper panel; times and memory, of which less is better, in the lower.
    """
    units = {(row["workload"], row["setting"]): row["unit"] for entry in entries for row in entry["rows"]}
    rates = [key for key, unit in units.items() if unit.endswith("/s")]
    others = [key for key in units if key not in rates]
    titles = {"rates, ours / peer: more is better": rates, "times and memory, ours / peer: less is better": others}
    panels = {title: keys for title, keys in titles.items() if keys}
    figure = titled("Speed and memory", caption, WIDTH, 2.2 + ROW_HEIGHT * len(units) + 0.2 * len(entries))
    heights = [len(keys) + 1 for keys in panels.values()]
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for each, (title, keys) in zip(axes, panels.items()):
        _draw_panel(each, entries, keys)
        each.set_title(title, fontsize=9, loc="left")
    names = [f"{entry['version']}, {entry['date']}, {entry['processor']}" for entry in entries]
    for color, name in zip(colors(len(entries)), names):
        axes[0].plot([], [], "o", color=color, label=name)
    legend = figure.legend(loc="outside upper right", frameon=False, fontsize=8)
    for label in legend.texts:
        label.set_parse_math(False)
    return figure


def _draw_panel(axes: "Axes", entries: Sequence[Entry], keys: list[tuple[str, str]]) -> None:
    for number, (entry, color) in enumerate(zip(entries, colors(len(entries)))):
        shift = SPREAD * (number / (len(entries) - 1) - 0.5) if len(entries) > 1 else 0.0
        for row in entry["rows"]:
            if (key := (row["workload"], row["setting"])) in keys:
                height = keys.index(key) + shift
                axes.plot(row["ratio_range"], [height, height], color=color)
                axes.plot(row["ratio"], height, "o", color=color, markersize=5)
    labels = [textwrap.fill(f"{workload}: {setting}", LABEL) for workload, setting in keys]
    axes.set_yticks(range(len(keys)), labels=labels, fontsize=7, parse_math=False)
    axes.set_ylim(len(keys) - 0.5, -0.5)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(1, color="black", linewidth=1)
    plain_axes(axes)
