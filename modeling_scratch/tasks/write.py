# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Continue a prompt: what a decoder does."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Any

import transformers

from ..inference.generation import SAMPLING
from ..inference.text_generators import Generated, TextGenerator
from ..utils.errors import DataError
from .base import Task
from .card import Card, Use
from .page import Component, GeneratorPage, slider

CARD = Card(
    "A decoder pretrained on causal language modelling: it continues texts and does not follow instructions.",
    Use("text-generation", "text-generation", "AutoModelForCausalLM", is_prompt=True),
)


class StoppedError(Exception):
    """Nobody reads the pieces any more."""


def pieces(run: Callable[[Callable[[str], object]], object]) -> Iterator[str]:
    """Yield what `run` passes to the function that it gets. It runs in a thread, and stops with the iterator."""
    written, is_closed = SimpleQueue[str | None](), Event()

    def write(piece: str) -> None:
        if is_closed.is_set():
            raise StoppedError
        written.put(piece)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run, write)
        done.add_done_callback(lambda _: written.put(None))
        try:
            yield from iter(written.get, None)
        finally:
            is_closed.set()
        done.result()  # raises what the thread has raised


def _write(generator: TextGenerator, prompt: str, seed: int | None, write: Callable[[str], object]) -> Generated:
    if seed is not None:
        transformers.set_seed(seed)
    return generator.stream(prompt, write)


class WriterPage(GeneratorPage):
    """Prompts -> texts that continue them."""

    fields = ("prompt",)
    outputs = (("Textbox", {"label": "Answer", "lines": 12, "buttons": ["copy"]}),)
    grows = True

    @property
    def settings(self) -> list[Component]:  # type: ignore[override]
        setting = self.generator.setting
        samples = {"value": setting("do_sample", False), "label": "Sample (otherwise the most likely token)"}
        return [
            self.length_slider,
            ("Number", {"value": 0, "label": "Seed", "precision": 0}),
            ("Checkbox", samples),
            slider("Temperature", 0.05, 2, setting("temperature", 1.0), 0.05),
            slider("Top-k (0: all tokens)", 0, 200, setting("top_k", 50), 1),
            slider("Top-p", 0.05, 1, setting("top_p", 1.0), 0.05),
        ]

    def check(self, most: int, *texts: str) -> None:
        super().check(most, *texts)
        limit, length = self.generator.limit, len(self.generator.encode(texts, truncation=False)[0])
        if limit is not None and length > limit:
            raise DataError(f"prompt: {length:,} tokens exceed the model's limit of {limit:,}; shorten it")

    def answer(self, *values: Any) -> Iterator[str]:
        """Yield the growing text, prompt included."""
        prompt, longest, seed, is_sampled, *drawn = values
        chosen = dict(zip(SAMPLING, drawn)) if is_sampled else {}
        generator = self.with_settings(max_new_tokens=longest, num_beams=1, do_sample=is_sampled, **chosen)
        text = prompt
        for piece in pieces(partial(_write, generator, prompt, seed)):
            text += piece
            yield text


class Writing(Task):
    name, card, page, explained, not_generated = "write", CARD, WriterPage, "next", None
    refusal = "the model continues texts; use `modeling-scratch generate`"


TASK = Writing()
