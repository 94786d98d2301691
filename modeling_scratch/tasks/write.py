# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Continue a prompt: what a decoder does."""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from queue import SimpleQueue
from typing import Any

import transformers

from ..inference.arguments import PredictArguments
from ..inference.generation import SAMPLING, SearchArguments, load_generator
from ..utils.errors import DataError
from .base import Task
from .card import Card, Use
from .page import Component, Page, length_slider, slider

CARD = Card(
    "A decoder pretrained on causal language modelling: it continues texts and does not follow instructions.",
    Use("text-generation", "text-generation", "AutoModelForCausalLM"),
)


def pieces(run: Callable[[Callable[[str], object]], object]) -> Iterator[str]:
    """Yield what `run`, in a thread, passes to the function that it gets."""
    written = SimpleQueue[str | None]()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run, written.put)
        done.add_done_callback(lambda _: written.put(None))
        yield from iter(written.get, None)
        done.result()  # raises what the thread has raised


class WriterPage(Page):
    """Prompts -> texts that continue them."""

    fields = ("prompt",)
    outputs = (("Textbox", {"label": "Answer", "lines": 12, "buttons": ["copy"]}),)
    grows = True

    def __init__(self, task: Any, arguments: PredictArguments) -> None:
        self.action, self.generator = task.name, load_generator(arguments.model, arguments)

    @property
    def settings(self) -> list[Component]:  # type: ignore[override]
        setting = self.generator.setting
        samples = {"value": setting("do_sample", False), "label": "Sample (otherwise the most likely token)"}
        return [
            length_slider(self.generator.max_new_tokens),
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
        search = SearchArguments(max_new_tokens=longest, num_beams=1, do_sample=is_sampled, **chosen)
        generator = copy.copy(self.generator)
        generator.generation = {**generator.generation, **search.given()}
        if seed is not None:
            transformers.set_seed(seed)
        yield from accumulate(pieces(partial(generator.stream, prompt)), initial=prompt)


class Writing(Task):
    name, card, page, explained, not_generated = "write", CARD, WriterPage, "next", None
    refusal = "the model continues texts; use `modeling-scratch generate`"


TASK = Writing()
