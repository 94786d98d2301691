# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program that draws figures by their names: its arguments, and the figure of each name."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..bridges.model_sources import Tokenizers
from ..modeling_base import ScratchPreTrainedModel
from ..report.comparison import names_of
from ..utils.command_line import option
from ..utils.errors import DataError
from .attention_maps import KINDS, Attention, attention_maps, attention_of
from .block_diagram import architecture, columns_for, preset_columns
from .drawing import DEFAULT, HEADS, PRESETS, draw_columns
from .embedding_map import embedding_map, frequent_words, ids_of
from .learning_curves import Log, learning_curves, read_log
from .learning_rates import learning_rates
from .look import Picture, write_figure
from .masks import attention_masks
from .models import SMALL, model_from, small_model, tokenizers_of
from .parameters import count_parameters, parameter_counts
from .positions import position_biases, position_encodings, position_products, rope_scaling
from .speed_history import lines_of, speed_history

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT, TARGET = "The acting is gripping, but this film bores.", "Sie spielen packend, aber der Film langweilt."


@dataclass
class FiguresArguments:
    """What to draw, of which model and runs, and where to."""

    names: list[str] | None = field(
        default=None, metadata={"help": "The figures; by default all that the options permit."}
    )
    model: str | None = option(
        default=None, help="The folder of a model; by default, figures show a small one of the preset, untrained."
    )
    preset: list[str] | None = field(
        default=None,
        metadata={
            "help": "Presets. parameters and architecture show all of them in full size, the others the first in small "
            f"size. By default {', '.join(DEFAULT)}."
        },
    )
    runs: list[str] | None = field(
        default=None, metadata={"help": "The folders of runs whose learning curves are drawn."}
    )
    history: str | None = option(default=None, help="The file that benchmark --history has written, for speed-history.")
    text: str = option(default=TEXT, help="The text that the model reads.")
    target: str | None = option(
        default=None, help="What the decoder of an encoder-decoder reads; by default, what the model generates."
    )
    layers: list[int] | None = field(
        default=None, metadata={"help": "The layers of attention maps, from 1; by default up to four."}
    )
    heads: list[int] | None = field(
        default=None, metadata={"help": "The heads of attention maps, from 1; by default up to four."}
    )
    words: list[str] | None = field(default=None, metadata={"help": "The words to label in the figure of embeddings."})
    output_dir: str = option(default="figures", help="The folder for NAME.png and NAME.svg, which are replaced.")

    def __post_init__(self) -> None:
        for name in self.names or ():
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
    """The model and the runs that the figures show; tokenizers and attention when the first figure needs them."""

    def __init__(self, arguments: FiguresArguments) -> None:
        self.arguments = arguments
        self.presets = arguments.preset or list(DEFAULT)
        self.runs = self._read_runs()
        self.model, self._own_tokenizers = self._load()

    def _read_runs(self) -> dict[str, Log]:
        folders = self.arguments.runs or []
        return dict(zip(names_of(folders), map(read_log, folders)))

    def _load(self) -> tuple[ScratchPreTrainedModel, Tokenizers | None]:
        if self.arguments.model is not None:
            return model_from(self.arguments.model), None
        texts = [self.arguments.text, self.arguments.target or TARGET, *(self.arguments.words or ())]
        return small_model(self.presets[0], texts)

    @cached_property
    def tokenizers(self) -> Tokenizers:
        return self._own_tokenizers or tokenizers_of(self.arguments.model)

    @property
    def name(self) -> str:
        """Of the model, for captions: its folder without the parents."""
        if self.arguments.model is not None:
            folder = Path(self.arguments.model).resolve()
            return folder.name if not folder.name.startswith("checkpoint-") else f"{folder.parent.name}/{folder.name}"
        sizes = f"{SMALL['num_hidden_layers']} layers of width {SMALL['hidden_size']}"
        return f"a small one of the preset {self.presets[0]} ({sizes}) with random weights"

    @cached_property
    def attention(self) -> dict[str, Attention]:
        is_small = self.arguments.model is None
        target = self.arguments.target or (TARGET if is_small else None)
        found = attention_of(self.model, self.tokenizers, self.arguments.text, target)
        return {each.kind: each for each in found}


def positions(subject: Subject) -> "Figure":
    kind = subject.model.config.position_type
    return position_encodings(subject.model, f"Model: {subject.name}; its positions are of the kind {kind}.")


def distances(subject: Subject) -> "Figure":
    caption = "Mean over all pairs of positions at a distance. Rotary: a query and a key of ones, rotated. "
    return position_products(subject.model, f"{caption}Model: {subject.name}.")


def rope(subject: Subject) -> "Figure":
    return rope_scaling("Head size 64, theta 10,000, factor 4. dynamic: in a text of the full new length.")


def biases(subject: Subject) -> "Figure":
    return position_biases(subject.model, f"Model: {subject.name}.")


def masks(subject: Subject) -> "Figure":
    return attention_masks(
        "Blue: visible. A hidden key gets the most negative score, so its softmax weight is 0. What rows of padding "
        "compute is never read."
    )


def attention(subject: Subject, kind: str) -> "Figure":
    if kind not in subject.attention:
        has = ", ".join(KINDS[each].lower() for each in subject.attention)
        raise DataError(f"{subject.name}: no {KINDS[kind].lower()}; it has {has}")
    options = subject.arguments
    caption = f"Model: {subject.name}. Each row sums to 1."
    return attention_maps(subject.attention[kind], options.layers, options.heads, caption)


def self_attention(subject: Subject) -> "Figure":
    return attention(subject, "self")


def causal_attention(subject: Subject) -> "Figure":
    return attention(subject, "causal")


def cross_attention(subject: Subject) -> "Figure":
    return attention(subject, "cross")


def rates(subject: Subject) -> "Figure":
    return learning_rates("Each curve is the schedule that Trainer builds from the arguments of the program.")


def curves(subject: Subject) -> "Figure":
    if not subject.runs:
        raise DataError("name the folders of runs with --runs")
    return learning_curves(subject.runs)


def speed(subject: Subject) -> "Figure":
    if subject.arguments.history is None:
        raise DataError("name the file of benchmark --history with --history")
    caption = "Dots: medians over pairs of runs. Lines: the middle half of the ratios. Equal outputs on both sides."
    return speed_history(lines_of(subject.arguments.history), caption)


def embeddings(subject: Subject) -> "Figure":
    given, (tokenizer, _) = subject.arguments.words or [], subject.tokenizers
    words = frequent_words(tokenizer) | ids_of(tokenizer, given)
    table: Any = subject.model.get_input_embeddings().weight
    caption = f"Model: {subject.name}. Points: {len(words)} words from the start of the vocabulary, the most frequent."
    return embedding_map(table, words, given, caption)


def parameters(subject: Subject) -> "Figure":
    caption = "Tied weights count once, as embeddings."
    if subject.arguments.model is not None:
        return parameter_counts({subject.name: count_parameters(subject.model)}, caption)
    return parameter_counts({name: count_parameters(full_size(name)) for name in subject.presets}, caption)


def full_size(preset: str) -> ScratchPreTrainedModel:
    """Return the model of a preset without memory for its weights."""
    config = PRESETS[preset]()
    with torch.device("meta"):
        model: Any = HEADS[config.model_type](config)
    model.tie_weights()
    return model


def blocks(subject: Subject) -> Picture:
    if subject.arguments.model is not None:
        columns = columns_for(subject.model.config, subject.name, type(subject.model))
    else:
        columns = preset_columns(subject.presets)
    return Picture(architecture(columns), draw_columns(columns))


FIGURES: dict[str, Callable[[Subject], "Figure | Picture"]] = {
    "positions": positions,
    "position-products": distances,
    "rope": rope,
    "position-biases": biases,
    "masks": masks,
    "self-attention": self_attention,
    "causal-attention": causal_attention,
    "cross-attention": cross_attention,
    "learning-rates": rates,
    "learning-curves": curves,
    "speed-history": speed,
    "embeddings": embeddings,
    "parameters": parameters,
    "architecture": blocks,
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
