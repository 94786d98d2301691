# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""All checks, and how they run on a model in memory, in this process.

check(ScratchDecoderForCausalLM, config)     # or a model, and a tokenizer

A check is a function of a `Subject` with `@check(...)` in one of the modules that are imported here.
"""

import copy
from collections.abc import Collection
from typing import Any

import torch
from transformers import PreTrainedModel

from ..utils.errors import DataError
from . import files, forward, losses, states, stored_weights, tokens_and_labels, use
from .findings import Check, Diagnosis, DoesNotApply
from .subject import Subject

MODULES = files, stored_weights, tokens_and_labels, forward, losses, states, use  # in this order
MERGED = {
    "cache_of_several": "cache", "cache_padded": "cache", "no_mask": "mask_dtypes", "decoder_mask": "mask_gap",
    "beam_search": "generation", "bfloat16": "half_precision", "float16": "half_precision", "export": "one_graph",
}  # fmt: skip
CHECKS = tuple(each for module in MODULES for each in vars(module).values() if isinstance(each, Check))


def check(
    model: PreTrainedModel | type[PreTrainedModel],
    config: Any = None,
    tokenizer: Any = None,
    only: Collection[str] = (),
) -> Diagnosis:
    """Examine a model, or a class with a config, in this process. The model is not changed.

    tokenizer: for the checks that need one. only: names of the checks to run; by default, all.
    """
    subject = subject_of(model, config, tokenizer)
    return Diagnosis(subject.name, [each.examine(subject) for each in chosen(only)])


def subject_of(model: PreTrainedModel | type[PreTrainedModel], config: Any = None, tokenizer: Any = None) -> Subject:
    """Return the subject of a copy of a model, or of a new one of this class and config."""
    if isinstance(model, type):
        if config is None:
            raise DataError(f"{model.__name__}: a class needs a config; give one, or a model")
        torch.manual_seed(0)
        model = model(config)
    try:
        return Subject(copy.deepcopy(model).float().cpu().eval(), tokenizer)
    except DoesNotApply as reason:
        raise DataError(f"{type(model).__name__} cannot be examined: {reason}") from reason


def chosen(only: Collection[str] = ()) -> list[Check]:
    """Return the checks of these names; by default, all."""
    if "recorded_answers" in only:
        raise DataError("recorded_answers is retired: recorded_files compares every file that decides the answers")
    names = {each.name for each in CHECKS}
    if gone := sorted(MERGED.keys() & set(only)):
        raise DataError(f"{gone[0]} is retired: {MERGED[gone[0]]} checks it")
    if unknown := set(only) - names:
        raise DataError(f"{', '.join(sorted(unknown))}: no such check; there are {', '.join(sorted(names))}")
    return [each for each in CHECKS if not only or each.name in only]
