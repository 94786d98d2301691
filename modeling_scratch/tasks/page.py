# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model on the page of the demo: its texts, its settings, and what the page shows of its answers."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ..inference.arguments import PredictArguments
from ..inference.generation import SearchArguments, load_generator
from ..inference.text_generators import TextGenerator
from ..utils.errors import DataError

Component = tuple[str, Mapping[str, Any]]  # a class of Gradio and its arguments
FONTS = "system-ui", "sans-serif"  # of the reader's system
LONGEST = 100_000  # characters of a text
MOST_WAITING = 64  # clicks
MOST_TOKENS = 512  # that a page can ask for
CUT = "Only the first {limit:,} tokens were read."


class Page:
    """A model on a page. The base class shows what the answerer of a task answers."""

    fields: tuple[str, ...] = ("text",)  # the names of the texts
    outputs: Sequence[Component] = (("JSON", {"label": "Answer"}),)
    settings: Sequence[Component] = ()  # beside the texts
    hint: str = ""  # Markdown above the texts
    grows: bool = False  # whether `answer` yields a growing answer

    def __init__(self, task: Any, arguments: PredictArguments) -> None:
        """Load the model."""
        self.action, self.answerer = task.name, task.answering.load(arguments)
        self.fields = task.answering.fields

    def check(self, most: int, *texts: str) -> None:
        """Raise `DataError` for a text that is empty or has more than `most` characters."""
        for name, text in zip(self.fields, texts):
            if not text.strip():
                raise DataError(f"{name}: empty; write a text")
            if len(text) > most:
                raise DataError(f"{name}: {len(text):,} characters; the maximum is {most:,}")

    def answer(self, *values: Any) -> Any:
        """Return the values of `outputs`, or that of the only one, for texts and then settings."""
        text = dict(zip(self.fields, values)) if len(self.fields) > 1 else values[0]
        (job,) = self.answerer.encode([text], {})
        if job is None:
            raise DataError(f"{self.fields[0]}: has no visible character; write something else")
        if job.truncated:
            limit = self.answerer.pipe.tokenizer.model_max_length
            raise DataError(f"{self.fields[0]}: exceeds the model's limit of {limit:,} tokens; shorten it")
        shown = self.shown(self.answerer.run([job])[0], *values)
        return shown if len(shown) > 1 else shown[0]

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        """Return the values of `outputs` for an answer."""
        return [answer]


class GeneratorPage(Page):
    """What the pages of writers and translators share."""

    def __init__(self, task: Any, arguments: PredictArguments) -> None:
        self.action = task.name
        self.generator: Any = load_generator(
            arguments.model, SearchArguments(), 1, arguments.device, arguments.trust_remote_code,
            arguments.allow_special_tokens,
        )  # fmt: skip

    def with_settings(self, **settings: Any) -> TextGenerator:
        """Return the generator with settings of one request. Raises `DataError` for invalid ones."""
        generator = copy.copy(self.generator)
        generator.generation = {**generator.generation, **SearchArguments(**settings).given()}
        return generator

    @property
    def length_slider(self) -> Component:
        tokens = self.generator.max_new_tokens
        return slider("At most so many new tokens", 1, max(MOST_TOKENS, tokens), tokens, 1)


def label_of(name: str) -> str:
    """ "text_pair" -> "Text pair"."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def boxes_of(fields: Sequence[str]) -> list[Component]:
    """Return the components for texts with these names."""
    lines = {"lines": 5 if len(fields) == 1 else 3, "max_lines": 15}
    return [("Textbox", {"label": label_of(name), **lines}) for name in fields]


def slider(label: str, low: float, high: float, value: float, step: float) -> Component:
    return "Slider", {"label": label, "minimum": low, "maximum": high, "value": value, "step": step}
