# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every model class with a batch it takes and the settings it is tested in: one row a class, one entry a setting."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest
import torch
import transformers
from conftest import redraw
from torch import Tensor
from transformers import PreTrainedModel

import modeling_scratch as scratch

Batch = dict[str, Tensor]

TINY: dict[str, int | float] = {
    "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32, "num_labels": 3, "hidden_dropout": 0.0,
}  # fmt: skip

# Together they use every switch of the architecture.
SWITCHES: dict[str, dict[str, Any]] = {
    "post-sinusoidal": {"embedding_scale": True},
    "pre-rotary-grouped": {
        "norm_position": "pre", "norm_type": "rms_norm", "position_type": "rotary", "hidden_act": "swiglu",
        "num_key_value_heads": 2, "attention_bias": False, "mlp_bias": False, "classifier_pooling": "mean",
    },
    "learned-token_types": {
        "position_type": "learned", "embedding_norm": True, "type_vocab_size": 2, "hidden_act": "gelu",
        "position_offset": 2, "classifier_activation": "tanh",
    },
    "factorised": {"embedding_size": 8, "position_type": "sinusoidal_halves", "classifier_pooling": "max"},
    "untied-wide_heads": {
        "tie_word_embeddings": False, "position_type": "rotary", "head_dim": 6, "norm_position": "pre",
    },
}  # fmt: skip

# Three texts of 9, 5 and 7 tokens: none padded, padded on the right, padded on the left.
MASK = torch.tensor([[1] * 9, [1] * 5 + [0] * 4, [0] * 2 + [1] * 7])


@dataclass(frozen=True)
class Case:
    """A model class and the labels that go with a batch."""

    model_class: type[PreTrainedModel]
    make_labels: Callable[[Tensor], Batch]

    def config(self, **settings: Any) -> scratch.ScratchConfig:
        return self.model_class.config_class(**{**TINY, **settings})

    def model(self, **settings: Any) -> PreTrainedModel:
        """In evaluation mode, every parameter far from where initialisation puts it."""
        return redraw(self.model_class(self.config(**settings))).eval()

    def inputs(self, seed: int = 0) -> Batch:
        ids = torch.randint(1, TINY["vocab_size"], MASK.shape, generator=torch.Generator().manual_seed(seed))
        return {"input_ids": ids, "attention_mask": MASK.clone()}

    def batch(self, seed: int = 0) -> Batch:
        inputs = self.inputs(seed)
        return {**inputs, **self.make_labels(inputs["input_ids"])}


def _masked_tokens(ids: Tensor) -> Batch:
    return {"labels": torch.where((ids % 3 == 0) & MASK.bool(), ids, -100)}


def _text_labels(ids: Tensor) -> Batch:
    return {"labels": torch.tensor([2, 0, 1])}


def _token_labels(ids: Tensor) -> Batch:
    return {"labels": torch.where(MASK.bool(), ids % 3, -100)}


def _spans(ids: Tensor) -> Batch:
    return {"start_positions": torch.tensor([1, 0, 4]), "end_positions": torch.tensor([3, 2, 8])}


CASES = (
    Case(scratch.ScratchEncoderModel, lambda ids: {}),
    Case(scratch.ScratchEncoderForMaskedLM, _masked_tokens),
    Case(scratch.ScratchEncoderForSequenceClassification, _text_labels),
    Case(scratch.ScratchEncoderForTokenClassification, _token_labels),
    Case(scratch.ScratchEncoderForQuestionAnswering, _spans),
)
HEADS = tuple(case for case in CASES if case.make_labels(MASK))


def parametrize_cases(cases: tuple[Case, ...] = CASES) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.model_class.__name__)


every_switch = pytest.mark.parametrize("settings", SWITCHES.values(), ids=SWITCHES)


def in_turn(cases: tuple[Case, ...] = CASES) -> pytest.MarkDecorator:
    """For what is slow: the classes with one setting each, so that each class and each setting comes at least once."""
    pairs = zip(cases * len(SWITCHES), cycle(SWITCHES.items()))
    params = [
        pytest.param(case, settings, id=f"{case.model_class.__name__}-{name}") for case, (name, settings) in pairs
    ]
    return pytest.mark.parametrize(("case", "settings"), params[: max(len(cases), len(SWITCHES))])


def assert_same_outputs(left: Any, right: Any, atol: float = 0.0, where: Tensor | None = None) -> None:
    """The same fields with the same values; where (B, T) limits those of shape (B, T, ...) to real tokens."""
    assert left.keys() == right.keys()
    for name, value in left.items():
        pairs = zip(value, right[name], strict=True) if isinstance(value, tuple) else [(value, right[name])]
        for one, other in pairs:
            if where is not None and one.shape[:2] == where.shape:
                one, other = one[where.bool()], other[where.bool()]
            torch.testing.assert_close(one, other, atol=atol, rtol=0)


@contextmanager
def library_messages() -> Iterator[list[str]]:
    """What is logged meanwhile by transformers and this package, also what is said only once."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    transformers.utils.logging.warning_once.cache_clear()
    loggers = logging.getLogger(), logging.getLogger("transformers")  # the second keeps its records to itself
    for logger in loggers:
        logger.addHandler(handler)
    yield found
    for logger in loggers:
        logger.removeHandler(handler)
