# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The models of the server and of the demo, by the task of a checkpoint."""

from collections.abc import Iterator
from contextlib import contextmanager

from transformers import AutoConfig

from ..bridges.model_sources import load_checkpoint
from ..data.text_pairs import pair_columns
from ..inference.arguments import PredictArguments
from ..inference.compiled import compile_generation
from ..inference.loading import loading_errors
from ..tasks import action_of, named
from ..tasks.answerer import Answerer
from ..tasks.base import Task
from ..tasks.page import Page
from ..utils.errors import DataError

MOST_BEAMS, MOST_NEW_TOKENS = 8, 256


@contextmanager
def task_of(arguments: PredictArguments, fault: str, is_served: bool = False) -> Iterator[Task]:
    """Yield the task of a checkpoint. Errors of its loading become one line.

    fault: the words for architectures that answer no texts, or with is_served, none that the server has a route for.
    """
    with loading_errors("--model", arguments.model):
        config = load_checkpoint(AutoConfig, arguments.model, arguments.trust_remote_code)
        action = action_of(config)
        if not action or (is_served and not named(action).answering):
            raise DataError(f"{(config.architectures or ['the model'])[0]} {fault}")
        arguments.text_column = list(pair_columns(arguments.model)) or None  # there is no table to have them
        yield named(action)


def load_page(arguments: PredictArguments) -> Page:
    """Load a model with what a page shows of it. Raises `DataError` for what does not load, or answers no texts."""
    with task_of(arguments, "has no head that answers texts; train one first") as task:
        return task.page(task, arguments)


def load_answerer(
    name: str,
    device: str | None = None,
    max_beams: int = MOST_BEAMS,
    max_new_tokens: int = MOST_NEW_TOKENS,
    compiles: bool = False,
    **loading: bool,
) -> Answerer:
    """Load a checkpoint. Raises `DataError` for architectures that answer no texts and for untrained heads.

    compiles: the pass of a token, before the first request. loading: further arguments of predict.
    """
    arguments = PredictArguments(model=name, device=device, **loading)  # type: ignore[arg-type]
    with task_of(arguments, "does not classify, tag, translate or answer", is_served=True) as task:
        assert task.answering
        answerer = task.answering.load(arguments, {"num_beams": max_beams, "max_new_tokens": max_new_tokens})
        if compiles and "max_new_tokens" not in answerer.options:
            raise DataError("--compile: the model writes no texts token by token; leave it out")
        if compiles:
            compile_generation(answerer.pipe.model, is_dynamic=True)
        for batch in answerer.warming():
            answerer.run(batch)
        return answerer
