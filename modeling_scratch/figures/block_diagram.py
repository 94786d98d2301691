# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A figure of the architecture of any config: the columns of drawing.py, which reads them off the modules.

drawing.py writes SVG of text, rectangles, circles and paths. Here they become artists of Matplotlib, which writes PNG.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ..configuration_scratch import ScratchConfig
from .drawing import HEADS, PRESETS, Column, column, columns_of, draw_columns
from .look import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 72  # per inch; a unit of the SVG is a point
ANCHORS = {"end": "right", "middle": "center", "start": "left"}


def columns_for(config: ScratchConfig, name: str, model_class: Any = None) -> list[Column]:
    """Return the columns of a config: one, or those of encoder and decoder. model_class: None: with its LM head."""
    return columns_of(model_class or HEADS[config.model_type], config, name, type(config).__name__)


def preset_columns(names: Sequence[str]) -> list[Column]:
    """Return the column of each preset; of a single encoder-decoder, those of both sides."""
    if len(names) > 1 or not PRESETS[names[0]]().is_encoder_decoder:
        return [column(name, PRESETS[name]) for name in names]
    title = column(names[0], PRESETS[names[0]]).titles[0].partition(",")[0]
    config = PRESETS[names[0]]()
    return columns_of(HEADS[config.model_type], config, title, f"presets.{names[0]}()")


def architecture(columns: Sequence[Column]) -> "Figure":
    """Draw models from ids to logits, side by side, with what differs from the Transformer of 2017 in orange."""
    picture = ElementTree.fromstring(draw_columns(columns))
    width, height = (float(size) for size in picture.get("viewBox", "").split()[2:])
    figure = new_figure(width / POINTS, height / POINTS)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    for element in picture:
        if draw := DRAWN.get(element.tag.partition("}")[2]):
            draw(axes, element)
    return figure


def _number(element: Any, name: str) -> float:
    return float(element.get(name, 0))


def _style(element: Any) -> dict[str, Any]:
    fill, stroke, dashes = (element.get(name, "none") for name in ("fill", "stroke", "stroke-dasharray"))
    style = {"facecolor": fill, "edgecolor": stroke, "linewidth": 1 if stroke != "none" else 0}
    return style if dashes == "none" else {**style, "linestyle": (0, tuple(map(float, dashes.split())))}


def _text(axes: "Axes", element: Any) -> None:
    is_title = "Segoe" in element.get("font-family", "")
    axes.text(
        _number(element, "x"), _number(element, "y"), element.text or "", fontsize=_number(element, "font-size"),
        color=element.get("fill"), ha=ANCHORS[element.get("text-anchor", "start")], va="baseline", parse_math=False,
        family="sans-serif" if is_title else "monospace", fontweight="bold" if element.get("font-weight") else "normal",
    )  # fmt: skip


def _rectangle(axes: "Axes", element: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y, width, height = (_number(element, name) for name in ("x", "y", "width", "height"))
    rounded = f"round,pad=0,rounding_size={_number(element, 'rx')}"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=rounded, **_style(element)))


def _circle(axes: "Axes", element: Any) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((_number(element, "cx"), _number(element, "cy")), _number(element, "r"), **_style(element)))


def _path(axes: "Axes", element: Any) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    codes, points = [], []
    for command, point in _steps(element.get("d")):
        codes.append({"M": Path.MOVETO, "Z": Path.CLOSEPOLY}.get(command, Path.LINETO))
        points.append(point)
    axes.add_patch(PathPatch(Path(points, codes), **_style(element)))


def _steps(path: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the commands of an SVG path with absolute points: M, L, H, V, Z, and relative in small letters."""
    x = y = 0.0
    for command, written in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", path):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", written)]
        name = command.upper()
        start_x, start_y = (x, y) if command.islower() else (0.0, 0.0)
        if name in "MLH" and numbers:
            x = start_x + numbers[0]
        if name in "MLV" and numbers:
            y = start_y + numbers[-1]
        yield name, (x, y)


DRAWN: dict[str, Callable[["Axes", Any], None]] = {
    "text": _text, "rect": _rectangle, "circle": _circle, "path": _path,
}  # fmt: skip
