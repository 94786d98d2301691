# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine: the textbook's numbers in less time. `import modeling_scratch` turns it on for the package's own classes.

It sets four attributes of these classes: `engine`, which computes the last hidden states, `run_call`, `run_generate`,
and `create_masks_for_generate`. During a call, plain layers have faster forwards (forwards.py). Saved folders contain
none of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ..base_models import StackModel
from ..modeling_base import ScratchGenerationMixin, ScratchPreTrainedModel
from ..registration import others
from .engine import fast_engine
from .forwards import fast_call
from .generation import fast_generate, masks_for_generate
from .text_classification import SortingTextClassificationPipeline

__all__ = ["SortingTextClassificationPipeline", "disable", "disabled", "enable", "is_enabled"]

# What the classes of the textbook have, and what the engine sets.
SEAMS = (
    (StackModel, "engine", fast_engine),
    (ScratchPreTrainedModel, "run_call", staticmethod(fast_call)),
    (ScratchPreTrainedModel, "create_masks_for_generate", staticmethod(masks_for_generate)),
    (ScratchGenerationMixin, "run_generate", staticmethod(fast_generate)),
)
TEXTBOOK = [vars(model_class)[name] for model_class, name, _ in SEAMS]
_lock, _disabling, _was_enabled = Lock(), 0, True


def enable() -> None:
    """Enable the engine for scratch models. Results are equal up to rounding."""
    for model_class, name, value in SEAMS:
        setattr(model_class, name, value)
    others.enable()


def disable() -> None:
    """Disable the engine, so that scratch models run the textbook code."""
    for (model_class, name, _), value in zip(SEAMS, TEXTBOOK):
        setattr(model_class, name, value)
    others.disable()


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
