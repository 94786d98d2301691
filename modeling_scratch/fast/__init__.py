# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine: the textbook's numbers in less time. `import modeling_scratch` turns it on for the package's own classes.

It sets four attributes of these classes: `engine`, which computes the last hidden states, `__call__`, `generate`, and
`create_masks_for_generate`. During a call, plain layers have faster forwards (forwards.py). Saved folders contain
none of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import MethodType
from typing import Any

from torch import Tensor
from transformers import GenerationMixin

from .. import attention as formulas
from ..inputs import Inputs
from ..modeling_base import ScratchPreTrainedModel
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from ..registration import others
from ..stack import StackModel
from .engine import fast_engine
from .forwards import fast_call
from .generation import fast_generate, masks_for_generate
from .text_classification import SortingTextClassificationPipeline

__all__ = ["SortingTextClassificationPipeline", "disable", "disabled", "enable", "is_enabled", "textbook"]


def call(model: Any, *args: Any, **kwargs: Any) -> Any:
    return fast_call(super(ScratchPreTrainedModel, model).__call__, *args, **kwargs)


def generate(model: Any, *args: Any, **kwargs: Any) -> Any:
    return fast_generate(MethodType(GenerationMixin.generate, model), *args, **kwargs)


# What the engine sets in the classes of the textbook, which have or inherit it.
SEAMS: tuple[tuple[type, str, Any], ...] = (
    (StackModel, "engine", fast_engine),
    (ScratchPreTrainedModel, "__call__", call),
    (ScratchPreTrainedModel, "create_masks_for_generate", staticmethod(masks_for_generate)),
    (ScratchDecoderForCausalLM, "generate", generate),
    (ScratchSeq2SeqForConditionalGeneration, "generate", generate),
)
TEXTBOOK = [vars(model_class).get(name) for model_class, name, _ in SEAMS]  # None: it is inherited
_lock = Lock()
_is_on = False  # as enable and disable left it
_contexts = {"disabled": 0, "textbook": 0}  # those that run, in all threads


def enable() -> None:
    """Enable the engine for scratch models. Results are equal up to rounding."""
    _switch(True)
    others.enable()


def disable() -> None:
    """Disable the engine, so that scratch models run the textbook code."""
    _switch(False)
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
    with _within("disabled"):
        yield


@contextmanager
def textbook() -> Iterator[None]:
    """Run the formulas of the files within this context, in all threads: eager_attention, and no engine.

    Whoever edits them sees the effect, in training, too. Otherwise a fused kernel stands in for eager_attention, unless
    the config says attn_implementation="eager".
    """
    with _within("textbook"):
        yield


def eager_engine(model: Any, inputs: Inputs, *, attention_fn: Any = None, **kwargs: Any) -> Tensor:
    """As textbook_engine, with eager_attention whatever backend the config names."""
    return StackModel.textbook_engine(model, inputs, attention_fn=attention_fn or formulas.eager_attention, **kwargs)


@contextmanager
def _within(name: str) -> Iterator[None]:
    with _lock:
        _contexts[name] += 1
        _apply()
    try:
        yield
    finally:
        with _lock:
            _contexts[name] -= 1
            _apply()


def _switch(on: bool) -> None:
    global _is_on
    with _lock:
        _is_on = on
        _apply()


def _apply() -> None:
    is_on = _is_on and not any(_contexts.values())
    for (model_class, name, fast), textbooks in zip(SEAMS, TEXTBOOK):
        if is_on or textbooks is not None:
            setattr(model_class, name, fast if is_on else textbooks)
        elif name in vars(model_class):
            delattr(model_class, name)
    if _contexts["textbook"]:
        StackModel.engine = eager_engine
