# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models with a trained head, their tokenizers, and the precision of their weights."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer

import modeling_scratch  # noqa: F401  registers its models with the Auto classes

from ..bridges.model_sources import (
    ask_for_mask,
    check_folder,
    check_loaded,
    position_limit,
    pretrained,
    read_special_tokens,
    token_limit,
)
from ..tasks import action_of, named
from ..utils.errors import DataError, panics_as_errors
from .arguments import PredictArguments


@contextmanager
def loading_errors(option: str, name: str) -> Iterator[None]:
    """Convert errors while a model loads to a one-line `DataError` that names the option. Check the folder first."""
    check_folder(name, option)
    try:
        with panics_as_errors():
            yield
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        if any(Path(name).glob("checkpoint-*")) and not (Path(name) / "config.json").exists():
            raise DataError(
                f"{option} {name}: the run is unfinished; resume it or name a checkpoint-* folder"
            ) from error
        is_unknown = isinstance(error, OSError) and not Path(name).exists()
        place = "folder not found, and as a name on the Hub: " if is_unknown else ""
        message = str(error).removeprefix(option).strip().removeprefix(f"{name}: ")
        raise DataError(f"{option} {name}: {place}{textwrap.shorten(message, 240)}") from error


def load_head(arguments: PredictArguments, auto_class: Any, untrained: str) -> tuple[Any, Any]:
    """Load a model and its tokenizer, which truncates where --max_length says, or else where the model has to.

    untrained: the words for a model without trained head. Raises `DataError` for this one, without a tokenizer, and for
    more tokens than learned positions, or no more than the special ones.
    """
    name, trusts = arguments.model, arguments.trust_remote_code
    with loading_errors("--model", name):
        model, info = pretrained(auto_class, name, trusts, output_loading_info=True)
        action = action_of(model.config)
        if action and (task := named(action)).card.use.auto_class != auto_class.__name__:
            raise DataError(task.refusal)
        check_loaded(model, info, untrained)
        tokenizer = pretrained(AutoTokenizer, name, trusts)
        check_tokenizer(tokenizer)
    read_special_tokens(tokenizer, arguments.allow_special_tokens or None)
    ask_for_mask(tokenizer, model)
    given, positions = arguments.max_length, position_limit(model.config)
    if given is not None and positions is not None and given > positions:
        raise DataError(f"--max_length {given}: the model has {positions} positions; give at most these")
    tokenizer.model_max_length = limit = token_limit(tokenizer, model.config) if given is None else given
    if limit <= (added := tokenizer.num_special_tokens_to_add(arguments.has_pairs)):
        raise DataError(f"--max_length {limit}: must exceed the {added} special tokens")
    return move(model.eval(), arguments.device).to(getattr(torch, arguments.precision)), tokenizer


def check_tokenizer(tokenizer: Any) -> None:
    """Raise `DataError` for the fallback of some families without a tokenizer file."""
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise DataError("no tokenizer; save the one used in training")


def move(model: Any, device: str | None) -> Any:
    """Move a model to the device, by default an available accelerator. Raises `DataError` that names the device."""
    target = device or torch.accelerator.current_accelerator(check_available=True) or "cpu"
    try:
        return model.to(target)
    except Exception as error:  # invalid names and drivers raise many types
        raise DataError(f"--device {target}: {textwrap.shorten(str(error), 240)}") from error
