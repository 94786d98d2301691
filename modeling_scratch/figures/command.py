# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program that draws figures by their names: its arguments, and the figure of each name."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..inspection.program import load_textbook
from ..utils.errors import DataError
from ..utils.options import option, retired
from .look import write_figure
from .masks import attention_masks
from .models import PRESETS, SMALL, small_model
from .positions import position_biases, position_encodings
from .speed_history import speed_history

# Options and figures of earlier versions, by what replaces them.
EXPLAIN = "the page of `modeling-scratch explain` shows the forward pass, and the attention of every head"
TENSORBOARD = "train with --report_to tensorboard, which draws the curves of several runs"
PLOT = "plot the embeddings, modeling_scratch.positions or modeling_scratch.rope_scaling; torchinfo counts parameters"
OF_EXPLAIN = (
    *("--text", "--target", "--layers", "--heads"),
    *("self-attention", "causal-attention", "cross-attention", "architecture"),
)


SPEED_HISTORY = "speed-history"


@dataclass
class FiguresArguments:
    """What to draw, of which model, and where to."""

    names: list[str] | None = option(None, "The figures; by default all that need no --history.")
    model: str | None = option(None, "The folder of a model; by default, a small untrained one of the preset.")
    preset: str | None = option(None, "The preset of the small model; by default bert.", PRESETS)
    history: str | None = option(None, "The file of lines of benchmark --json, for speed-history.")
    output_dir: str = option("figures", "The folder for NAME.png and NAME.svg, which are replaced.")

    RETIRED = {
        **dict.fromkeys(OF_EXPLAIN, EXPLAIN),
        **dict.fromkeys(("--runs", "learning-curves", "learning-rates"), TENSORBOARD),
        **dict.fromkeys(("--words", "embeddings", "position-products", "rope", "parameters"), PLOT),
    }

    def __post_init__(self) -> None:
        for name in self.names or ():
            if line := retired(name, self.RETIRED):
                raise DataError(line)
            if name not in FIGURES:
                likely = "".join(f" (did you mean {each}?)" for each in get_close_matches(name, FIGURES, 1))
                raise DataError(f"{name}: no such figure; the choices are {', '.join(FIGURES)}{likely}")
        if self.history is None and SPEED_HISTORY in (self.names or ()):
            raise DataError(f"{SPEED_HISTORY}: name the file of lines of benchmark --json with --history")
        if self.model is not None and self.preset is not None:
            raise DataError("--model and --preset exclude each other; give only one")


FIGURES: dict[str, Callable[..., Any]] = {
    "positions": lambda model, name, _: position_encodings(
        model, f"Model: {name}; its positions are of the kind {model.config.position_type}."
    ),
    "position-biases": lambda model, name, _: position_biases(model, f"Model: {name}."),
    "masks": lambda *_: attention_masks(
        "Blue: visible. A hidden key gets the most negative score, so its softmax weight is 0. What rows of padding "
        "compute is never read."
    ),
    SPEED_HISTORY: lambda _model, _name, history: speed_history(
        history, "Dots: medians over pairs of runs. Lines: the middle half of the ratios. Equal outputs on both sides."
    ),
}


def draw_figures(arguments: FiguresArguments) -> None:
    """Write the figures as PNG and SVG, of the model of a folder, or of a small one of a preset."""
    preset, folder = arguments.preset or "bert", Path(arguments.output_dir)
    if arguments.model is None:
        model = small_model(preset)
        sizes = f"{SMALL['num_hidden_layers']} layers of width {SMALL['hidden_size']}"
        name = f"a small one of the preset {preset} ({sizes}) with random weights"
    else:
        model, path = load_textbook(arguments.model), Path(arguments.model).resolve()
        name = path.name if not path.name.startswith("checkpoint-") else f"{path.parent.name}/{path.name}"
    folder.mkdir(parents=True, exist_ok=True)
    for figure in arguments.names or [each for each in FIGURES if arguments.history or each != SPEED_HISTORY]:
        drawn = FIGURES[figure](model, name, arguments.history)
        print(", ".join(map(str, write_figure(drawn, folder, figure))), flush=True)
