# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tasks of the server, and which of them a checkpoint has."""

import textwrap

from transformers import AutoConfig

from ..bridges.model_sources import check_folder, load_checkpoint, read_special_tokens, token_limit
from ..inference.actions import ANSWER, CLASSIFY, TAG, TRANSLATE, action_of
from ..utils.errors import DataError
from .answering import Answering, load_answering
from .classification import Classification, load_classification
from .tagging import Tagging, load_tagging
from .task import Task
from .translation import MOST_BEAMS, MOST_NEW_TOKENS, Translation, load_translation

TASKS: tuple[type[Task], ...] = Classification, Translation, Answering, Tagging
LOADERS = {CLASSIFY: load_classification, ANSWER: load_answering, TAG: load_tagging}


def load_task(
    name: str,
    device: str | None = None,
    trust_remote_code: bool = False,
    max_beams: int = MOST_BEAMS,
    max_new_tokens: int = MOST_NEW_TOKENS,
    allow_special_tokens: bool = False,
) -> Task:
    """Load the task of a checkpoint. Raises `DataError` for other architectures and untrained heads."""
    check_folder(name, "--model")
    try:
        config = load_checkpoint(AutoConfig, name, trust_remote_code)
        action, architecture = action_of(config), (config.architectures or ["this model"])[0]
        if action in LOADERS:
            task: Task = LOADERS[action](name, device, trust_remote_code)
        elif action == TRANSLATE:
            task = load_translation(name, device, trust_remote_code, max_beams, max_new_tokens)
        else:
            raise DataError(f"--model {name}: {architecture} does not classify, tag, translate or answer")
        read_special_tokens(task.pipe.tokenizer, allow_special_tokens or None)
        return _ready(task)
    except DataError:
        raise
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        raise DataError(f"--model {name}: {textwrap.shorten(str(error), 240)}") from error


def _ready(task: Task) -> Task:
    """Let the tokenizer truncate where the model has to, and warm up the model."""
    task.pipe.tokenizer.model_max_length = token_limit(task.pipe.tokenizer, task.pipe.model.config)
    jobs = task.encode(task.samples, {"max_new_tokens": 2} if isinstance(task, Translation) else {})
    task.run([job for job in jobs if job])
    return task
