# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The engine: the textbook's numbers in less time. `import modeling_scratch` turns it on for the package's own classes.

It sets four attributes of these classes: `engine`, which computes the last hidden states, `__call__`, `generate`, and
`create_masks_for_generate`. During a call, plain layers have faster forwards (forwards.py). Saved folders contain
none of it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any

from torch import Tensor

from .. import attention as formulas
from ..inputs import Inputs
from ..modeling_base import ScratchPreTrainedModel
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from ..registration import others
from ..stack import StackModel
from . import captured_decoding
from .engine import fast_engine
from .forwards import fast_call
from .generation import fast_generate, masks_for_generate
from .text_classification import SortingTextClassificationPipeline

__all__ = ["SortingTextClassificationPipeline", "disable", "disabled", "enable", "is_enabled", "textbook"]


def around(model_class: Any, name: str, fast: Callable) -> tuple[type, str, Any]:
    """The seam of a method that is inherited, which the fast one gets."""

    def method(model: Any, *args: Any, **kwargs: Any) -> Any:
        return fast(getattr(super(model_class, model), name), *args, **kwargs)

    return model_class, name, method


# What the engine sets in the classes of the textbook, which have or inherit it.
SEAMS: tuple[tuple[type, str, Any], ...] = (
    (StackModel, "engine", fast_engine),
    (ScratchPreTrainedModel, "create_masks_for_generate", staticmethod(masks_for_generate)),
    around(ScratchPreTrainedModel, "__call__", fast_call),
    around(ScratchDecoderForCausalLM, "generate", fast_generate),
    around(ScratchSeq2SeqForConditionalGeneration, "generate", fast_generate),
)
TEXTBOOK = [vars(model_class).get(name) for model_class, name, _ in SEAMS]  # None: it is inherited
_lock = Lock()
# As enable and disable left it, and the contexts that run, in all threads.
_counts = {"enabled": 0, "disabled": 0, "textbook": 0}


def enable() -> None:
    """Enable the engine for scratch models. Results are equal up to rounding."""
    _update("enabled", lambda _: 1)
    others.enable()


def disable() -> None:
    """Disable the engine, so that scratch models run the textbook code, and free what it kept."""
    _update("enabled", lambda _: 0)
    captured_decoding.forget()
    others.disable()


def is_enabled() -> bool:
    return StackModel.engine is fast_engine


def disabled() -> AbstractContextManager[None]:
    """Disable the engine in all threads within this context. The last such context to end restores the state.

    >>> from modeling_scratch import fast
    >>> with fast.disabled():
    ...     fast.is_enabled()
    False
    """
    return _within("disabled")


def textbook() -> AbstractContextManager[None]:
    """Run the formulas of the files within this context, in all threads: eager_attention, and no engine.

    Whoever edits them sees the effect, in training, too. Otherwise a fused kernel stands in for eager_attention, unless
    the config says attn_implementation="eager".
    """
    return _within("textbook")


def eager_engine(model: Any, inputs: Inputs, *, attention_fn: Any = None, **kwargs: Any) -> Tensor:
    """As textbook_engine, with eager_attention whatever backend the config names."""
    return StackModel.textbook_engine(model, inputs, attention_fn=attention_fn or formulas.eager_attention, **kwargs)


@contextmanager
def _within(name: str) -> Iterator[None]:
    _update(name, lambda count: count + 1)
    try:
        yield
    finally:
        _update(name, lambda count: count - 1)


def _update(name: str, change: Callable[[int], int]) -> None:
    with _lock:
        _counts[name] = change(_counts[name])
        is_on = _counts["enabled"] and not (_counts["disabled"] or _counts["textbook"])
        for (model_class, attribute, fast), textbooks in zip(SEAMS, TEXTBOOK):
            if is_on or textbooks is not None:
                setattr(model_class, attribute, fast if is_on else textbooks)
            elif attribute in vars(model_class):
                delattr(model_class, attribute)
        if _counts["textbook"]:
            StackModel.engine = eager_engine
