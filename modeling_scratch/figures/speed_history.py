# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of how the ratios of the benchmark have changed from version to version."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..report.plots import plain_axes
from ..utils.errors import DataError
from ..utils.files import check_regular
from .look import colors, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, ROW_HEIGHT, LABEL = 9.5, 0.34, 56  # inches, inches, characters a line
RATE = "tokens/s"
SPREAD = 0.6  # of a row, for the dots of all lines
MEASURED, ROW = {"version", "date", "processor", "rows"}, {"workload", "setting", "ratio", "ratio_range"}


def read_history(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a history, each of which `benchmark --json` has written. Raises `DataError` for others."""
    check_regular(path)
    entries, text = [], path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            if not entry.keys() >= MEASURED or not all(row.keys() >= ROW for row in entry["rows"]):
                raise ValueError("a key is missing")
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"--history {path}, line {number}: no line of benchmark --json ({error})") from error
        entries.append(entry)
    if not entries:
        raise DataError(f"--history {path}: not found, or without a line; benchmark --json writes one")
    return entries


def speed_history(name: str, caption: str = "") -> "Figure":
    """Draw the ratio of ours to the peer's for each workload: a row for each, a colour for each line of the history.

    Rates come first. Times and memory, of which less is better, are below them. Raises `DataError`.
    """
    entries = read_history(Path(name))
    units = {(row["workload"], row["setting"]): row.get("unit", RATE) for entry in entries for row in entry["rows"]}
    keys = sorted(units, key=lambda key: not units[key].endswith("/s"))
    figure = titled("Speed and memory, ours / peer", caption, WIDTH, 2.2 + ROW_HEIGHT * len(keys) + 0.2 * len(entries))
    axes = figure.subplots()
    for number, (entry, color) in enumerate(zip(entries, colors(len(entries)))):
        shift = SPREAD * (number / (len(entries) - 1) - 0.5) if len(entries) > 1 else 0.0
        for row in entry["rows"]:
            height = keys.index((row["workload"], row["setting"])) + shift
            axes.plot(row["ratio_range"], [height, height], color=color)
            axes.plot(row["ratio"], height, "o", color=color, markersize=5)
        axes.plot([], [], "o", color=color, label=f"{entry['version']}, {entry['date']}, {entry['processor']}")
    notes = ["" if units[key].endswith("/s") else " (less is better)" for key in keys]
    labels = [textwrap.fill(f"{workload}: {setting}{note}", LABEL) for (workload, setting), note in zip(keys, notes)]
    axes.set_yticks(range(len(keys)), labels=labels, fontsize=7, parse_math=False)
    axes.set_ylim(len(keys) - 0.5, -0.5)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(1, color="black", linewidth=1)
    plain_axes(axes)
    for label in figure.legend(loc="outside upper right", frameon=False, fontsize=8).texts:
        label.set_parse_math(False)
    return figure
