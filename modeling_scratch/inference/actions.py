# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a saved model does with a text, by the name of its architecture."""

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedConfig

from ..bridges.model_sources import check_folder

CLASSIFY, TAG, FILL, ANSWER, WRITE, TRANSLATE = "classify", "tag", "fill", "answer", "write", "translate"
# The end of an architecture's name: what it does. Every other encoder-decoder translates.
ACTIONS = {
    "ForSequenceClassification": CLASSIFY,
    "ForTokenClassification": TAG,
    "ForMaskedLM": FILL,
    "ForQuestionAnswering": ANSWER,
    "ForCausalLM": WRITE,
    "LMHeadModel": WRITE,
}


def action_of(config: Any) -> str | None:
    """Return what a model does with texts; None for one without a head for it."""
    return _action(config.architectures) or (TRANSLATE if config.is_encoder_decoder else None)


def saved_action(name: str) -> str | None:
    """Return what a model of a folder or of the Hub does by its head, as config.json names it; None if it does not."""
    try:
        check_folder(name)
        settings, _ = PreTrainedConfig.get_config_dict(name)
        return _action(settings.get("architectures"))
    except Exception:  # of files, network, configuration: reported where the model is loaded
        return None


def _action(architectures: Sequence[str] | None) -> str | None:
    architecture = str((architectures or [""])[0])
    return next((action for end, action in ACTIONS.items() if architecture.endswith(end)), None)
