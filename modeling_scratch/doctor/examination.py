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
RETIRED = {
    "cache_of_several": "cache", "cache_padded": "cache", "no_cache": "cache", "no_mask": "mask_dtypes",
    "decoder_mask": "mask_gap", "padding_as_text": "mask_gap", "beam_search": "generation",
    "generation_padded": "generation", "bfloat16": "half_precision", "float16": "half_precision",
    "autocast": "half_precision", "export": "one_graph", "finite_weights": "own_weights",
    "weights_are_read": "round_trip", "padding_token": "special_tokens", "positions": "default_ids",
    "token_types": "default_ids", "one_token": "shortest_and_longest", "longest_text": "shortest_and_longest",
    "padding_as_label": "loss", "answers_outside": "loss", "right_gradients": "every_gradient",
    "frozen_parts": "every_gradient", "meta_device": "round_trip", "recorded_answers": "recorded_files",
    "sees_both_sides": "causality", "problem_types": "loss", "cache_is_all": "cache",
    "generation_is_forward": "generation", "last_logits": "generation", "logits_are_scores": "loss",
    "padding_right": "batch_equals_single",
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
    if isinstance(model, type):
        if config is None:
            raise DataError(f"{model.__name__}: a class needs a config; give one, or a model")
        torch.manual_seed(0)
        model = model(config)
    try:
        subject = Subject(copy.deepcopy(model).float().cpu().eval(), tokenizer)
    except DoesNotApply as reason:
        raise DataError(f"{type(model).__name__} cannot be examined: {reason}") from reason
    return Diagnosis(subject.name, [each.examine(subject) for each in chosen(only)])


def chosen(only: Collection[str] = ()) -> list[Check]:
    """Return the checks of these names; by default, all."""
    names = {each.name for each in CHECKS}
    if gone := sorted(RETIRED.keys() & set(only)):
        raise DataError(f"{gone[0]} is retired: {RETIRED[gone[0]]} checks it")
    if unknown := set(only) - names:
        raise DataError(f"{', '.join(sorted(unknown))}: no such check; there are {', '.join(sorted(names))}")
    return [each for each in CHECKS if not only or each.name in only]
