# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The table and the picture of what was measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plots import BLUE, new_figure, write_png

Row = dict[str, Any]

HEADER = """| workload | setting | ours | peer | ratio | middle half | of the rate of matrix products |
| --- | --- | ---: | ---: | ---: | ---: | ---: |"""


def table_row(row: Row) -> str:
    """A line of the table; of the rate: as the literature counts, and of what is really computed."""
    digits = 3 if row["unit"] == "s" else 0
    sides = [f"{row[side]:,.{digits}f} {row['unit']}" for side in ("ours", "peer")]
    low, high = row["ratio_range"]
    rates = [
        f"{row[f'of_{name}']:.2f} ({row[f'computed_of_{name}']:.2f} computed){of_what}"
        for name, of_what in (("products", ""), ("onednn", " of oneDNN's"))
        if f"of_{name}" in row
    ]
    rates += [f"{row['mfu']:.2f} of the peak"] if "mfu" in row else []
    cells = [row["workload"], row["setting"], *sides, f"{row['ratio']:.2f}", f"{low:.2f}–{high:.2f}", ", ".join(rates)]
    return f"| {' | '.join(cells)} |"


def write_plot(path: Path, hardware: str, rows: Sequence[Row]) -> None:
    """A bar for each rate beside a peer, how many times the peer's it is, with a line at 1."""
    rows = [row for row in rows if row["unit"].endswith("/s") and row["workload"] != "precision"]
    figure = new_figure(9, 0.55 * max(len(rows), 2) + 1.2)
    axes = figure.subplots()
    places = range(len(rows))
    errors = [[abs(row["ratio"] - row["ratio_range"][end]) for row in rows] for end in (0, 1)]
    axes.barh(places, [row["ratio"] for row in rows], xerr=errors, color=BLUE, ecolor="black")
    axes.set_yticks(places, [f"{row['workload']}\n{row['setting'].partition(', ')[2]}" for row in rows], fontsize=7)
    for place, row in zip(places, rows):
        axes.annotate(
            f"{row['ratio']:.2f}", (row["ratio_range"][1], place), (4, 0), textcoords="offset points", va="center"
        )
    axes.axvline(1, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel(f"real tokens a second, times those of Hugging Face's class ({hardware})")
    axes.spines[["top", "right"]].set_visible(False)
    write_png(figure, path)
