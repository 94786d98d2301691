# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The look of figures: colours, titles and captions. And their files: equal figures give equal bytes."""

import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.plots import BLUE, GREEN, VERMILION, new_figure
from ..utils.files import replacing

if TYPE_CHECKING:  # imported lazily: matplotlib takes a second to import
    from matplotlib.figure import Figure

COLORS = BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "black"  # Okabe and Ito's palette
GREY = "#59636e"
WIDTH = 8.0  # inches; a page is about as wide
DPI = 150
CAPTION_SIZE = 8.5
CAPTION_LETTERS = 15  # per inch


def titled(title: str, caption: str, width: float, height: float) -> "Figure":
    """Return an empty figure with a title, and a caption below the panels. Sizes in inches."""
    figure = new_figure(width, height)
    words: dict[str, Any] = {"parse_math": False, "ha": "left", "x": 0.012}  # parse_math=False keeps "$" literal
    figure.suptitle(title, fontsize=12, fontweight="bold", **words)
    if caption:
        lines = textwrap.fill(caption, int(width * CAPTION_LETTERS))
        figure.supxlabel(lines, fontsize=CAPTION_SIZE, color=GREY, linespacing=1.3, **words)
    return figure


def colors(count: int) -> list[Any]:
    """Return a colour for each of so many lines: of the palette, or of a colour map if there are more."""
    if count <= len(COLORS):
        return list(COLORS[:count])
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0, 0.95, count)))


def write_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write `name`.png and `name`.svg, without dates and versions, the text of the SVG as text. Return the paths."""
    from matplotlib import rc_context

    png_path, svg_path = (folder / f"{name}.{kind}" for kind in ("png", "svg"))
    options: Any = {"svg.fonttype": "none", "svg.hashsalt": name}
    with rc_context(options), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the SVG still has the character
        with replacing(png_path) as temporary:
            figure.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})
        figure.set_layout_engine("none")  # it has found its places, which takes a third of the time
        with replacing(svg_path) as temporary:
            figure.savefig(temporary, format="svg", dpi=DPI, metadata={"Date": None, "Creator": None})
    return [png_path, svg_path]
