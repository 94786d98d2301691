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
from .architecture import architecture
from .learning_rates import learning_rates
from .look import write_figure
from .masks import attention_masks
from .models import DEFAULT, PRESETS, SMALL, full_size, small_model
from .parameters import count_parameters, parameter_counts
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
    preset: list[str] | None = option(
        None,
        "Presets. parameters and architecture show all of them in full size, the others the first in "
        f"small size. By default {', '.join(DEFAULT)}.",
    )
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
    }

    def __post_init__(self) -> None:
        for name in self.names or ():
            if line := retired(name, self.RETIRED):
                raise DataError(line)
            if name not in FIGURES:
                close = get_close_matches(name, FIGURES, 1)
                hint = f"did you mean {close[0]}?" if close else f"the choices are {', '.join(FIGURES)}"
                raise DataError(f"{name}: no such figure; {hint}")
        for name in self.preset or ():
            if name not in PRESETS:
                raise DataError(f"--preset {name}: the choices are {', '.join(PRESETS)}")
        if self.model is not None and self.preset is not None:
            raise DataError("--model and --preset exclude each other; give only one")
        if Path(self.output_dir).exists() and not Path(self.output_dir).is_dir():
            raise DataError(f"--output_dir {self.output_dir}: not a folder")


class Subject:
    """What the figures show: the model of a folder, or a small one of a preset. name: for captions."""

    def __init__(self, arguments: FiguresArguments) -> None:
        self.arguments = arguments
        self.presets = arguments.preset or list(DEFAULT)
        if arguments.model is None:
            self.model = small_model(self.presets[0])
            sizes = f"{SMALL['num_hidden_layers']} layers of width {SMALL['hidden_size']}"
            self.name = f"a small one of the preset {self.presets[0]} ({sizes}) with random weights"
        else:
            self.model, path = load_textbook(arguments.model), Path(arguments.model).resolve()
            self.name = path.name if not path.name.startswith("checkpoint-") else f"{path.parent.name}/{path.name}"


def speed(subject: Subject) -> Any:
    if subject.arguments.history is None:
        raise DataError("name the file of benchmark --history with --history")
    caption = "Dots: medians over pairs of runs. Lines: the middle half of the ratios. Equal outputs on both sides."
    return speed_history(lines_of(subject.arguments.history), caption)


def parameters(subject: Subject) -> Any:
    has_model = subject.arguments.model is not None
    models = {subject.name: subject.model} if has_model else {name: full_size(name) for name in subject.presets}
    counts = {name: count_parameters(model) for name, model in models.items()}
    return parameter_counts(counts, "Tied weights count once, as embeddings.")


FIGURES: dict[str, Callable[[Subject], Any]] = {
    "positions": lambda subject: position_encodings(
        subject.model, f"Model: {subject.name}; its positions are of the kind {subject.model.config.position_type}."
    ),
    "position-biases": lambda subject: position_biases(subject.model, f"Model: {subject.name}."),
    "masks": lambda _: attention_masks(
        "Blue: visible. A hidden key gets the most negative score, so its softmax weight is 0. What rows of padding "
        "compute is never read."
    ),
    "learning-rates": lambda _: learning_rates(
        "Each curve is the schedule that Trainer builds from the arguments of the program."
    ),
    "speed-history": speed,
    "parameters": parameters,
    "architecture": lambda subject: architecture(
        None if subject.arguments.model is None else subject.model, subject.name, subject.presets
    ),
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
