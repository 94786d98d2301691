# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The inputs, the button and the answer of a model on the page."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio

from ..inference.batches import failing_on
from ..tasks.page import Component, Page, boxes_of, label_of
from ..utils.errors import DataError, one_line, panics_as_errors
from .explanations import Explanations

ONE_AT_A_TIME: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 1}


@contextmanager
def in_words() -> Iterator[None]:
    """Show an error of a text or of the model on the page, as one sentence."""
    try:
        with panics_as_errors(), failing_on("on this text"):
            yield
    except DataError as error:
        raise gradio.Error(escape(one_line(error), quote=False), print_exception=False) from None


def component(described: Component) -> Any:
    """Add a component to the page."""
    name, arguments = described
    return getattr(gradio, name)(**arguments)


@dataclass(frozen=True)
class View:
    """A model on a page. most: characters of a text. explanations: None where nothing makes them."""

    model: Page
    most: int
    examples: Sequence[tuple[str, ...]] = ()
    explanations: Explanations | None = None

    def texts(self) -> list[Any]:
        """Add a box for each text."""
        return list(map(component, boxes_of(self.model.fields)))

    def add_examples(self, boxes: list[Any]) -> None:
        if rows := [list(texts) for texts in self.examples if len(texts) == len(boxes)]:
            gradio.Examples(rows, boxes, cache_examples=False, label="Examples")

    def add_explanation(self, boxes: list[Any]) -> None:
        """Add a button that makes a page about the answer, and a link to the page."""
        if len(boxes) > 1 or not (explanations := self.explanations):
            return
        model, tokenizer = self.model.parts
        button, link = gradio.Button("Explain"), gradio.HTML()
        explain = self.answering(lambda text: explanations.link(model, tokenizer, text))
        button.click(explain, boxes, link, api_name="explain", **ONE_AT_A_TIME)

    def check(self, *values: Any) -> None:
        """Refuse texts that the model cannot read. They come before the settings."""
        self.model.check(self.most, *values[: len(self.model.fields)])

    def answering(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the boxes that checks the texts before it answers, with errors in words."""

        def checked(*values: Any) -> Any:
            with in_words():
                self.check(*values)
                return answer(*values)

        return checked

    def growing(self, answer: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Return the same for an answer that grows."""

        def checked(*values: Any) -> Iterator[Any]:
            with in_words():
                self.check(*values)
                yield from answer(*values)

        return checked


def show(view: View) -> None:
    """Add the components of a model to the page: its texts and settings, and beside them its answer."""
    model = view.model
    with gradio.Row():
        with gradio.Column():
            boxes = view.texts()
            settings = list(map(component, model.settings))
            if model.hint:
                gradio.Markdown(model.hint)
            with gradio.Row():
                button = gradio.Button(label_of(model.action), variant="primary")
                stop = gradio.Button("Stop") if model.grows else None
            view.add_examples(boxes)
        with gradio.Column():
            outputs = list(map(component, model.outputs))
            view.add_explanation(boxes)

    answer = view.growing(model.answer) if model.grows else view.answering(model.answer)
    asked = button.click(answer, [*boxes, *settings], outputs, api_name=model.action, **ONE_AT_A_TIME)
    if stop:
        stop.click(None, cancels=[asked])
