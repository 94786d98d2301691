# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model of a demo: its task says what the page asks and shows."""

import textwrap

from transformers import AutoConfig

from ..bridges.model_sources import check_folder, load_checkpoint
from ..inference.arguments import PredictArguments
from ..tasks import action_of, named
from ..tasks.page import Page
from ..utils.errors import DataError, panics_as_errors


def load_page(arguments: PredictArguments) -> Page:
    """Load a model as what its architecture says. Raises `DataError` for others, and for what does not load."""
    name = arguments.model
    check_folder(name, "--model")
    try:
        config = load_checkpoint(AutoConfig, name, arguments.trust_remote_code)
        if (action := action_of(config)) is None:
            raise DataError(f"{(config.architectures or ['it'])[0]} has no head that answers texts; train one first")
        with panics_as_errors():
            return named(action).page(arguments)
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        message = str(error).removeprefix("--model_name_or_path").removeprefix("--model").strip()
        message = message.removeprefix(f"{name}: ")
        raise DataError(f"--model {name}: {textwrap.shorten(message, 240)}") from error
