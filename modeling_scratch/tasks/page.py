# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model on the page of the demo: its texts, its settings, and what the page shows of its answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..inference.arguments import PredictArguments
from ..utils.errors import DataError, first_few
from .answerer import MOST_WORDS_NAMED

Component = tuple[str, Mapping[str, Any]]  # a class of Gradio and its arguments
MOST_TOKENS = 512  # that a page can ask for
CUT = "Only the first {limit:,} tokens were read."


class Page:
    """A model on a page: its texts, then settings -> an answer and notes. The base class shows what a task answers."""

    fields: tuple[str, ...] = ("text",)  # the names of the texts
    options: tuple[str, ...] = ()  # of a request, which the settings give
    asked: Mapping[str, Any] = {}  # further ones
    outputs: Sequence[Component] = (("JSON", {"label": "Answer"}),)
    settings: Sequence[Component] = ()  # beside the texts
    hint: str = ""  # Markdown above the texts
    grows: bool = False  # whether `answer` yields a growing answer, without notes

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
        """Return the values of `outputs` for texts and then settings, and last the notes, such as on a cut text."""
        fields = self.answerer.fields
        text = dict(zip(fields, values)) if len(fields) > 1 else values[0]
        options = {**self.asked, **dict(zip(self.options, values[len(fields) :]))}
        (job,) = self.answerer.encode([text], options)
        if job is None:
            raise DataError(f"{self.fields[0]}: has nothing that the model reads; write something else")
        (answer,) = (self.answerer.fields_of(each, options) for each in self.answerer.run([job]))
        notes = [CUT.format(limit=self.answerer.limit)] if job.truncated else []
        notes += [f"The model has not seen: {first_few(job.unseen, MOST_WORDS_NAMED)}."] if job.unseen else []
        return [*self.shown(answer, *values), " ".join([*self.notes(answer), *notes])]

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        """Return the values of `outputs` for the fields of an answer."""
        return list(answer.values())

    def notes(self, answer: Any) -> list[str]:
        """Return sentences about an answer."""
        return []


def slider(label: str, low: float, high: float, value: float, step: float) -> Component:
    return "Slider", {"label": label, "minimum": low, "maximum": high, "value": value, "step": step}


def length_slider(tokens: int) -> Component:
    return slider("The most new tokens", 1, max(MOST_TOKENS, tokens), tokens, 1)
