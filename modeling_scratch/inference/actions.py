# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a saved model does with a text, by the name of its architecture."""

from typing import Any

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
    architecture = (config.architectures or [""])[0]
    otherwise = TRANSLATE if config.is_encoder_decoder else None
    return next((action for end, action in ACTIONS.items() if architecture.endswith(end)), otherwise)
