# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine: the textbook's numbers in less time. `import modeling_scratch` turns it on for the package's own classes.

Three attributes of these classes are what it changes, and all that it changes: the engine between a base model's
inputs and its last hidden states, the call around a model's forward, and generate. No saved folder holds it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ..modeling_base import ScratchPreTrainedModel, textbook_engine
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from .engine import fast_engine
from .forwards import fast_call
from .generation import fast_generate
from .text_classification import SortingTextClassificationPipeline

__all__ = ["SortingTextClassificationPipeline", "disable", "disabled", "enable", "is_enabled"]

WRITERS = ScratchDecoderForCausalLM, ScratchSeq2SeqForConditionalGeneration


def enable() -> None:
    """From now on scratch models take the fast ways wherever they apply; answers stay the same to rounding."""
    ScratchPreTrainedModel.engine = fast_engine
    ScratchPreTrainedModel.__call__ = fast_call  # type: ignore[method-assign]
    for model_class in WRITERS:
        model_class.generate = fast_generate  # type: ignore[assignment, method-assign]


def disable() -> None:
    """From now on scratch models compute what the textbook says, as it says it."""
    if not is_enabled():
        return
    ScratchPreTrainedModel.engine = textbook_engine
    del ScratchPreTrainedModel.__call__
    for model_class in WRITERS:
        del model_class.generate


def is_enabled() -> bool:
    return ScratchPreTrainedModel.engine is fast_engine


@contextmanager
def disabled() -> Iterator[None]:
    """`with fast.disabled():` the textbook computes, for all threads; afterwards it is as it was before."""
    was_enabled = is_enabled()
    disable()
    try:
        yield
    finally:
        if was_enabled:
            enable()
