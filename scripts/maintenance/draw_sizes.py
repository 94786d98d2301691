# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Draw tables of compare_sizes.py, whose runs were made at different times, as one picture.

python scripts/maintenance/draw_sizes.py docs/experiments/few-texts.md docs/pictures/sizes.png
"""

import re
import sys
from pathlib import Path

from size_plots import Scores, size_png

# The title of each panel, the beginning of the paragraph before its table, and its score.
PANELS = {
    "SST-2": ("SST-2, accuracy", "accuracy"),
    "IMDb": ("IMDb, without", "accuracy"),
    "20 topics": ("Generated support tickets", "accuracy"),
    "1 in 51": ("Tickets of two classes", "f1"),
}
HEAD = "| training texts"


def main(source: str, picture: str) -> None:
    paragraphs = Path(source).read_text(encoding="utf-8").split("\n\n")
    panels = {title: scores_of(table_after(paragraphs, beginning)) for title, (beginning, _) in PANELS.items()}
    size_png(panels, picture, {title: metric for title, (_, metric) in PANELS.items()})


def table_after(paragraphs: list[str], beginning: str) -> str:
    """The first table of sizes behind a paragraph."""
    place = next(place for place, each in enumerate(paragraphs) if each.startswith(beginning))
    return next(each for each in paragraphs[place:] if each.startswith(HEAD))


def scores_of(table: str) -> Scores:
    """Three scores for each cell "mean ± standard deviation" that have both; one for a mean alone."""
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    found: dict[str, dict[int, list[float]]] = {name: {} for name in head[1:]}
    for texts, *cells in rows:
        for name, cell in zip(head[1:], cells):
            numbers = [float(number) / 100 for number in re.findall(r"[\d.]+", cell)]
            if numbers:
                middle, spread = [*numbers, 0.0][:2]
                found[name][int(texts.partition(" ")[0].replace(",", ""))] = [middle - spread, middle, middle + spread]
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
