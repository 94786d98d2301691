# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The inputs, the buttons and the answers of each kind of model on the page."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio

from ..inference.answers import MULTI_LABEL, names_of
from ..inference.explanations import MOST_WORDS, has_more_words
from ..tasks import CLASSIFY, FILL, TRANSLATE, WRITE
from ..utils.errors import DataError, one_line, panics_as_errors
from .explanations import Explanations
from .models import RATE, MaskFiller, TaskModel, TextClassifier, TextTranslator, Writer

MOST_LABELS = 10  # that are shown
MOST_TOKENS = 512  # that a page can ask for
MOST_BEAMS = 8
WORDS = "Contribution of each word to the probability"
MORE_WORDS = f" Only the contributions of the first {MOST_WORDS} words are computed."
ONE_AT_A_TIME: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 1}


@contextmanager
def in_words() -> Iterator[None]:
    """Show an error of a text or of the model on the page, as one sentence."""
    try:
        with panics_as_errors():
            yield
    except DataError as error:
        raise gradio.Error(escape(one_line(error), quote=False), print_exception=False) from None
    except (RuntimeError, IndexError, ValueError, OverflowError) as error:
        reason = escape(textwrap.shorten(str(error), 240), quote=False)
        raise gradio.Error(f"the model fails on this text: {reason}", print_exception=False) from error


def label_of(name: str) -> str:
    """ "text_pair" -> "Text pair"."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class View:
    """A model on a page. most: characters of a text. explanations: None where nothing makes them."""

    model: Any
    most: int
    examples: Sequence[tuple[str, ...]] = ()
    explanations: Explanations | None = None

    def texts(self) -> list[Any]:
        """Add a box for each text."""
        lines = 5 if len(self.model.fields) == 1 else 3
        return [gradio.Textbox(label=label_of(name), lines=lines, max_lines=15) for name in self.model.fields]

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

    def button(self) -> Any:
        return gradio.Button(label_of(self.model.action), variant="primary")

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


def classify(view: View) -> None:
    """Labels with their probabilities, and the words with their contributions."""
    model: TextClassifier = view.model
    is_multiple = model.config.problem_type == MULTI_LABEL
    with gradio.Row():
        with gradio.Column():
            boxes, button = view.texts(), view.button()
            view.add_examples(boxes)
        with gradio.Column():
            labels = gradio.Label(label="Answer", num_top_classes=MOST_LABELS, show_heading=not is_multiple)
            note = gradio.Markdown()
            words = gradio.HighlightedText(label=WORDS, visible=model.has_words, show_legend=True)
            view.add_explanation(boxes)

    def answer(*texts: str) -> tuple[dict[str, float], str]:
        scores, told = model.answer(*texts)
        told += MORE_WORDS if model.has_words and has_more_words(texts[0]) else ""
        return scores, told if is_multiple else f"Probability: {max(scores.values()):.4f}. {told}"

    asked = button.click(view.answering(answer), boxes, [labels, note], api_name=model.action, **ONE_AT_A_TIME)
    if model.has_words:
        explained = view.answering(lambda text: [(each["word"], each["contribution"]) for each in model.words(text)])
        asked.success(explained, boxes, words, api_name="words", **ONE_AT_A_TIME)
        asked.failure(lambda: None, None, words, api_visibility="private")


def rate(view: View) -> None:
    """Numbers with their names."""
    model: TextClassifier = view.model
    with gradio.Row():
        with gradio.Column():
            boxes, button = view.texts(), view.button()
            view.add_examples(boxes)
        with gradio.Column():
            numbers = [gradio.Number(label=label_of(name)) for name in names_of(model.config)]
            note = gradio.Markdown()
            view.add_explanation(boxes)

    def answer(*texts: str) -> list[Any]:
        scores, told = model.answer(*texts)
        return [*scores.values(), told]

    button.click(view.answering(answer), boxes, [*numbers, note], api_name=model.action, **ONE_AT_A_TIME)


def show_task(view: View) -> None:
    """What a task shows of its answers."""
    model: TaskModel = view.model
    with gradio.Row():
        with gradio.Column():
            boxes, button = view.texts(), view.button()
            view.add_examples(boxes)
        with gradio.Column():
            outputs = [getattr(gradio, name)(**arguments) for name, arguments in model.told.outputs]
            view.add_explanation(boxes)

    button.click(view.answering(model.answer), boxes, outputs, api_name=model.action, **ONE_AT_A_TIME)


def fill(view: View) -> None:
    """The most likely tokens for the mask."""
    model: MaskFiller = view.model
    with gradio.Row():
        with gradio.Column():
            boxes = view.texts()
            gradio.Markdown(f"Write `{model.mask}` once, for the missing word.")
            button = view.button()
            view.add_examples(boxes)
        with gradio.Column():
            tokens = gradio.Label(label="Answer")
            view.add_explanation(boxes)

    def answer(text: str) -> dict[str, float]:
        return {each["token_str"]: each["score"] for each in reversed(model.answer(text))}

    button.click(view.answering(answer), boxes, tokens, api_name=model.action, **ONE_AT_A_TIME)


def translate(view: View) -> None:
    """The translation."""
    model: TextTranslator = view.model
    with gradio.Row():
        with gradio.Column():
            boxes = view.texts()
            settings = [beam_slider(model), length_slider(model)]
            button = view.button()
            view.add_examples(boxes)
        with gradio.Column():
            translation, note = gradio.Textbox(label="Answer", lines=5, buttons=["copy"]), gradio.Markdown()
            view.add_explanation(boxes)
    inputs, outputs = [*boxes, *settings], [translation, note]
    button.click(view.answering(model.answer), inputs, outputs, api_name=model.action, **ONE_AT_A_TIME)


def beam_slider(model: Any) -> Any:
    beams = model.generator.setting("num_beams", 1)
    return gradio.Slider(1, max(MOST_BEAMS, beams), beams, step=1, label="Beams")


def length_slider(model: Any) -> Any:
    most = model.generator.max_new_tokens
    return gradio.Slider(1, max(MOST_TOKENS, most), most, step=1, label="At most so many new tokens")


def write(view: View) -> None:
    """The text that continues the prompt, as it grows."""
    model: Writer = view.model
    setting = model.generator.setting
    with gradio.Row():
        with gradio.Column():
            boxes = view.texts()
            samples = gradio.Checkbox(setting("do_sample", False), label="Sample (otherwise the most likely token)")
            temperature = gradio.Slider(0.05, 2, setting("temperature", 1.0), step=0.05, label="Temperature")
            top_k = gradio.Slider(0, 200, setting("top_k", 50), step=1, label="Top-k (0: all tokens)")
            top_p = gradio.Slider(0.05, 1, setting("top_p", 1.0), step=0.05, label="Top-p")
            length, seed = (
                length_slider(model),
                gradio.Number(0, label="Seed", precision=0),
            )
            with gradio.Row():
                button, stop = view.button(), gradio.Button("Stop")
            view.add_examples(boxes)
        with gradio.Column():
            text = gradio.Textbox(label="Answer", lines=12, buttons=["copy"])
            view.add_explanation(boxes)

    def answer(*values: Any) -> Iterator[str]:
        prompt, longest, drawn, is_sampled, *sampling = values
        with in_words():
            view.check(prompt)
            chosen = dict(zip(("temperature", "top_k", "top_p"), sampling)) if is_sampled else {}
            yield from model.answer(prompt, longest, drawn, **chosen)

    inputs = [*boxes, length, seed, samples, temperature, top_k, top_p]
    asked = button.click(answer, inputs, text, api_name=model.action, **ONE_AT_A_TIME)
    stop.click(None, cancels=[asked])


VIEWS: dict[str, Callable[[View], None]] = {
    CLASSIFY: classify,
    RATE: rate,
    FILL: fill,
    TRANSLATE: translate,
    WRITE: write,
}


def show(view: View) -> None:
    """Add the components of a model to the page."""
    VIEWS.get(view.model.action, show_task)(view)
