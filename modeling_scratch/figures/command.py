# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program that draws figures by their names: its arguments, and the figure of each name."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..inspection.program import load_textbook
from ..utils.errors import DataError
from ..utils.options import option
from ..utils.retired_options import retired
from .look import write_figure
from .masks import attention_masks
from .models import PRESETS, SMALL, small_model
from .positions import position_biases, position_encodings
from .speed_history import lines_of, speed_history

ATTENTION = "self-attention", "causal-attention", "cross-attention"
EXPLAIN = "the page of `modeling-scratch explain` shows the attention of every head"


@dataclass
class FiguresArguments:
    """What to draw, of which model, and where to."""

    names: list[str] | None = option(None, "The figures; by default all that the options permit.")
    model: str | None = option(
        None, "The folder of a model; by default, figures show a small one of the preset, untrained."
    )
    preset: str | None = option(None, "The preset of the small model; by default bert.", PRESETS)
    history: str | None = option(None, "The file that benchmark --history has written, for speed-history.")
    output_dir: str = option("figures", "The folder for NAME.png and NAME.svg, which are replaced.")

    RETIRED = {
        "--words": "the figure of embeddings is retired",
        **dict.fromkeys(("--text", "--target", "--layers", "--heads", *ATTENTION), EXPLAIN),
        "--runs": "train with --report_to tensorboard, which draws the curves of several runs",
        "learning-curves": "train with --report_to tensorboard, which draws the curves of several runs",
        "embeddings": "draw two principal components (scikit-learn's PCA) of model.get_input_embeddings().weight",
        "position-products": "multiply what modeling_scratch.positions.sinusoidal returns by its transpose",
        "rope": "plot what modeling_scratch.rope_scaling computes",
        "learning-rates": "plot the learning_rate of trainer_state.json, or train with --report_to tensorboard",
        "parameters": "use torchinfo, or count model.named_parameters() by module",
        "architecture": "the page of `modeling-scratch explain` shows the forward pass of a model part by part",
    }

    def __post_init__(self) -> None:
        for name in self.names or ():
            if line := retired(name, self.RETIRED):
                raise DataError(line)
            if name not in FIGURES:
                close = get_close_matches(name, FIGURES, 1)
                hint = f"did you mean {close[0]}?" if close else f"the choices are {', '.join(FIGURES)}"
                raise DataError(f"{name}: no such figure; {hint}")
        if self.model is not None and self.preset is not None:
            raise DataError("--model and --preset exclude each other; give only one")
        if Path(self.output_dir).exists() and not Path(self.output_dir).is_dir():
            raise DataError(f"--output_dir {self.output_dir}: not a folder")


class Subject:
    """What the figures show: the model of a folder, or a small one of a preset. name: for captions."""

    def __init__(self, arguments: FiguresArguments) -> None:
        self.arguments = arguments
        if arguments.model is None:
            preset = arguments.preset or "bert"
            self.model = small_model(preset)
            sizes = f"{SMALL['num_hidden_layers']} layers of width {SMALL['hidden_size']}"
            self.name = f"a small one of the preset {preset} ({sizes}) with random weights"
        else:
            self.model, path = load_textbook(arguments.model), Path(arguments.model).resolve()
            self.name = path.name if not path.name.startswith("checkpoint-") else f"{path.parent.name}/{path.name}"


def speed(subject: Subject) -> Any:
    if subject.arguments.history is None:
        raise DataError("name the file of benchmark --history with --history")
    caption = "Dots: medians over pairs of runs. Lines: the middle half of the ratios. Equal outputs on both sides."
    return speed_history(lines_of(subject.arguments.history), caption)


FIGURES: dict[str, Callable[[Subject], Any]] = {
    "positions": lambda subject: position_encodings(
        subject.model, f"Model: {subject.name}; its positions are of the kind {subject.model.config.position_type}."
    ),
    "position-biases": lambda subject: position_biases(subject.model, f"Model: {subject.name}."),
    "masks": lambda _: attention_masks(
        "Blue: visible. A hidden key gets the most negative score, so its softmax weight is 0. What rows of padding "
        "compute is never read."
    ),
    "speed-history": speed,
}


def draw_figures(arguments: FiguresArguments) -> None:
    """Write the figures as PNG and SVG. Without names, print why a figure cannot be drawn, and draw the others."""
    subject, folder = Subject(arguments), Path(arguments.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or FIGURES:
        try:
            figure = FIGURES[name](subject)
        except DataError as error:
            if arguments.names:
                raise
            print(f"not drawn: {name}: {error}", file=sys.stderr)
            continue
        print(", ".join(map(str, write_figure(figure, folder, name))), flush=True)
