# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine: the textbook's numbers in less time. `import modeling_scratch` turns it on for the package's own classes.

It sets four attributes of these classes: `engine`, which computes the last hidden states, `__call__`, `generate`, and
`create_masks_for_generate`. During a call, plain layers have faster forwards (forwards.py). Saved folders contain none
of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ..base_models import StackModel
from ..modeling_base import ScratchPreTrainedModel
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from .engine import fast_engine
from .forwards import fast_call
from .generation import fast_generate, masks_for_generate
from .text_classification import SortingTextClassificationPipeline

__all__ = ["SortingTextClassificationPipeline", "disable", "disabled", "enable", "is_enabled"]

GENERATIVE = ScratchDecoderForCausalLM, ScratchSeq2SeqForConditionalGeneration
TEXTBOOK_MASKS = vars(ScratchPreTrainedModel)["create_masks_for_generate"]
_lock, _disabling, _was_enabled = Lock(), 0, True


def enable() -> None:
    """Enable the engine for scratch models. Results are equal up to rounding."""
    StackModel.engine = fast_engine
    ScratchPreTrainedModel.create_masks_for_generate = staticmethod(masks_for_generate)  # type: ignore[arg-type]
    ScratchPreTrainedModel.__call__ = fast_call  # type: ignore[method-assign]
    for model_class in GENERATIVE:
        model_class.generate = fast_generate(model_class)  # type: ignore[method-assign]


def disable() -> None:
    """Disable the engine, so that scratch models run the textbook code."""
    if is_enabled():
        StackModel.engine = StackModel.textbook_engine
        ScratchPreTrainedModel.create_masks_for_generate = TEXTBOOK_MASKS
    for model_class, name in (ScratchPreTrainedModel, "__call__"), *((each, "generate") for each in GENERATIVE):
        if name in vars(model_class):
            delattr(model_class, name)


def is_enabled() -> bool:
    return StackModel.engine is fast_engine


@contextmanager
def disabled() -> Iterator[None]:
    """Disable the engine in all threads within this context. The last such context to end restores the state.

    >>> from modeling_scratch import fast
    >>> with fast.disabled():
    ...     fast.is_enabled()
    False
    """
    global _disabling, _was_enabled
    with _lock:
        _was_enabled = _was_enabled if _disabling else is_enabled()
        _disabling += 1
        disable()
    try:
        yield
    finally:
        with _lock:
            _disabling -= 1
            if _was_enabled and not _disabling:
                enable()
