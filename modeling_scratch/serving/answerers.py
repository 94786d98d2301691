# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The models of the server, by the task of a checkpoint."""

import textwrap

from transformers import AutoConfig

from ..bridges.model_sources import check_folder, load_checkpoint, read_special_tokens, token_limit
from ..data.text_pairs import pair_columns
from ..inference.arguments import PredictArguments
from ..tasks import action_of, named
from ..tasks.answerer import Answerer
from ..utils.errors import DataError

MOST_BEAMS, MOST_NEW_TOKENS = 8, 256


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
        action = action_of(config)
        if not action or not (task := named(action)).serves:
            architecture = (config.architectures or ["this model"])[0]
            raise DataError(f"--model {name}: {architecture} does not classify, tag, translate or answer")
        arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
        arguments.text_column = list(pair_columns(name)) or None  # there is no table to have them
        answerer: Answerer = task.load(arguments, {"num_beams": max_beams, "max_new_tokens": max_new_tokens})
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
