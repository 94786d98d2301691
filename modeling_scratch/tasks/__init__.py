# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tasks by name: what a model is trained for, and what it then does with a text. Modules are imported when asked.

A name is a verb. It is the name of the task's module here and of its route over HTTP.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

CLASSIFY, TAG, FILL, ANSWER, WRITE, TRANSLATE = "classify", "tag", "fill", "answer", "write", "translate"
PRETRAIN = "pretrain"
# The end of an architecture's name: what such a model does. Every other encoder-decoder translates.
HEADS = {
    "ForSequenceClassification": CLASSIFY,
    "ForTokenClassification": TAG,
    "ForMaskedLM": FILL,
    "ForQuestionAnswering": ANSWER,
    "ForConditionalGeneration": TRANSLATE,
    "ForSeq2SeqLM": TRANSLATE,  # of Auto classes
    "ForCausalLM": WRITE,
    "LMHeadModel": WRITE,
}
RECORDED = "modeling-scratch"  # where a configuration names the task, if its head has another
# The tasks that are trained, by the program in scripts/. The models of pretraining fill, write or translate.
PROGRAMS = {
    "train_classifier": CLASSIFY,
    "train_tokens": TAG,
    "train_answers": ANSWER,
    "train_translation": TRANSLATE,
    "pretrain": PRETRAIN,
}


def named(name: str) -> Any:
    """Return the `Task` of this name."""
    return import_module(f".{name}", __name__).TASK


def trained_by(program: str) -> Any:
    """Return the `Task` that a program trains, as the record of a run names it; None for an unknown program."""
    name = PROGRAMS.get(Path(program).stem)
    return named(name) if name else None


def action_of(config: Any) -> str | None:
    """Return what a model does with texts; None for one without a head for it."""
    return action_in(vars(config)) or (TRANSLATE if config.is_encoder_decoder else None)


def action_in(settings: Mapping[str, Any]) -> str | None:
    """Return what a model does by its config.json: by its name of a task, or by its head; None if neither tells."""
    recorded = settings.get("task_specific_params")
    if isinstance(recorded, dict) and (name := recorded.get(RECORDED)) in PROGRAMS.values():
        return name
    return action_of_class(str((settings.get("architectures") or [""])[0]))


def action_of_class(name: str) -> str | None:
    """Return what a model of a class with this name does; None for one without a head for it."""
    return next((action for end, action in HEADS.items() if name.endswith(end)), None)
