# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The models of the server, by the task of a checkpoint."""

import textwrap

from transformers import AutoConfig

from .. import tasks
from ..bridges.model_sources import check_folder, load_checkpoint, read_special_tokens, token_limit
from ..inference.arguments import PredictArguments
from ..tasks import CLASSIFY, action_of
from ..tasks.answerer import Answerer
from ..utils.errors import DataError
from .classification import load_classification

MOST_BEAMS, MOST_NEW_TOKENS = 8, 256
ROUTES = CLASSIFY, *tasks.PROGRAMS.values()


def load_answerer(
    name: str,
    device: str | None = None,
    trust_remote_code: bool = False,
    max_beams: int = MOST_BEAMS,
    max_new_tokens: int = MOST_NEW_TOKENS,
    allow_special_tokens: bool = False,
) -> Answerer:
    """Load a checkpoint. Raises `DataError` for architectures that answer no texts and for untrained heads."""
    check_folder(name, "--model")
    try:
        config = load_checkpoint(AutoConfig, name, trust_remote_code)
        action, architecture = action_of(config), (config.architectures or ["this model"])[0]
        if task := tasks.named(action):
            arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
            answerer: Answerer = task.load(arguments, {"num_beams": max_beams, "max_new_tokens": max_new_tokens})
        elif action == CLASSIFY:
            answerer = load_classification(name, device, trust_remote_code)
        else:
            raise DataError(f"--model {name}: {architecture} does not classify, tag, translate or answer")
        read_special_tokens(answerer.pipe.tokenizer, allow_special_tokens or None)
        return _ready(answerer)
    except DataError:
        raise
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        raise DataError(f"--model {name}: {textwrap.shorten(str(error), 240)}") from error


def _ready(answerer: Answerer) -> Answerer:
    """Let the tokenizer truncate where the model has to, and warm up the model."""
    answerer.pipe.tokenizer.model_max_length = token_limit(answerer.pipe.tokenizer, answerer.pipe.model.config)
    jobs = answerer.encode(answerer.samples, {"max_new_tokens": 2} if "max_new_tokens" in answerer.options else {})
    answerer.run([job for job in jobs if job])
    return answerer
