# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every model class with a batch it takes and the settings it is tested in: one row a class, one entry a setting."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest
import torch
import transformers
from shared import redraw
from torch import Tensor
from transformers import PreTrainedModel

import modeling_scratch as scratch
from modeling_scratch import fast

Batch = dict[str, Tensor]

TINY: dict[str, int | float] = {
    "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32, "num_labels": 3, "hidden_dropout": 0.0,
}  # fmt: skip


# What the kernels for packed texts take.
WHOLE = {"hidden_size": 32, "num_attention_heads": 4, "head_dim": 8}
CLASSES = {"problem_type": "single_label_classification"}  # told: labels would have to be looked at


def tiny(**settings: Any) -> scratch.ScratchEncoderConfig:
    return scratch.ScratchEncoderConfig(**{**TINY, **settings})


# Together they use every switch of the architecture; encoder-decoders lack those of NO_SEQ2SEQ.
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
    "alibi-sandwich": {"position_type": "alibi", "norm_position": "sandwich", "hidden_act": "geglu_tanh"},
    "relative-query_key_norm": {
        "position_type": "relative", "relative_attention_num_buckets": 8, "relative_attention_max_distance": 8,
        "query_key_norm": True, "norm_type": "rms_norm", "num_key_value_heads": 2,
    },
    "local-parallel": {
        "position_type": "rotary", "sliding_window": 3, "layer_types": ["full_attention", "sliding_attention"],
        "local_rope_theta": 100.0, "block_type": "parallel", "norm_position": "pre", "first_norm": False,
    },
}  # fmt: skip

NO_SEQ2SEQ = ("block_type",)

# Three texts of 9, 5 and 7 tokens: none padded, padded on the right, padded on the left.
MASK = torch.tensor([[1] * 9, [1] * 5 + [0] * 4, [0] * 2 + [1] * 7])


@dataclass(frozen=True, eq=False)
class Case:
    """A model class, the labels that go with a batch, and what its config needs beside TINY."""

    model_class: type[PreTrainedModel]
    make_labels: Callable[[Tensor], Batch]
    settings: dict[str, Any] = field(default_factory=dict)

    def config(self, **settings: Any) -> scratch.ScratchConfig:
        config_class = self.model_class.config_class
        settings = {**TINY, **self.settings, **settings}
        own = {name for name in settings if not name.startswith("classifier_") or hasattr(config_class, name)}
        own -= set(NO_SEQ2SEQ) if config_class is scratch.ScratchSeq2SeqConfig else set()
        return config_class(**{name: settings[name] for name in own})

    def model(self, **settings: Any) -> PreTrainedModel:
        """In evaluation mode, every parameter far from where initialisation puts it."""
        return redraw(self.model_class(self.config(**settings))).eval()

    def inputs(self, seed: int = 0) -> Batch:
        ids = draw_ids(seed)
        inputs = {"input_ids": ids, "attention_mask": MASK.clone()}
        if self in SEQ2SEQS:
            inputs |= {"decoder_input_ids": ids.flip(1), "decoder_attention_mask": MASK.clone()}
        return inputs

    def batch(self, seed: int = 0) -> Batch:
        inputs = self.inputs(seed)
        return {**inputs, **self.make_labels(inputs["input_ids"])}


def names_of_auto_classes(model_class: type[PreTrainedModel]) -> dict[str, str]:
    """Auto class that this version of transformers has: the class that it makes of this family."""
    paths = model_class.config_class.auto_classes
    return {auto: path.partition(".")[2] for auto, path in paths.items() if hasattr(transformers, auto)}


def draw_ids(seed: int = 0) -> Tensor:
    return torch.randint(1, TINY["vocab_size"], MASK.shape, generator=torch.Generator().manual_seed(seed))


def _masked_tokens(ids: Tensor) -> Batch:
    return {"labels": torch.where((ids % 3 == 0) & MASK.bool(), ids, -100)}


def _all_tokens(ids: Tensor) -> Batch:
    return {"labels": torch.where(MASK.bool(), ids, -100)}


def _text_labels(ids: Tensor) -> Batch:
    return {"labels": torch.tensor([2, 0, 1])}


def _token_labels(ids: Tensor) -> Batch:
    return {"labels": torch.where(MASK.bool(), ids % 3, -100)}


def _spans(ids: Tensor) -> Batch:
    return {"start_positions": torch.tensor([1, 0, 4]), "end_positions": torch.tensor([3, 2, 8])}


def _nothing(ids: Tensor) -> Batch:
    return {}


# Most tests compare what a batch gives in one go; those of the cache turn it on.
UNCACHED = {"use_cache": False}
UNCACHED_PAIR = {**UNCACHED, "decoder_start_token_id": 1}

ENCODER = Case(scratch.ScratchEncoderModel, _nothing)
MASKED_LM = Case(scratch.ScratchEncoderForMaskedLM, _masked_tokens)
TEXTS = Case(scratch.ScratchEncoderForSequenceClassification, _text_labels)
TOKENS = Case(scratch.ScratchEncoderForTokenClassification, _token_labels)
SPANS = Case(scratch.ScratchEncoderForQuestionAnswering, _spans)
DECODER = Case(scratch.ScratchDecoderModel, _nothing, UNCACHED)
CAUSAL_LM = Case(scratch.ScratchDecoderForCausalLM, _all_tokens, UNCACHED)
DECODER_TEXTS = Case(scratch.ScratchDecoderForSequenceClassification, _text_labels, UNCACHED)
SEQ2SEQ = Case(scratch.ScratchSeq2SeqModel, _nothing, UNCACHED_PAIR)
SEQ2SEQ_LM = Case(scratch.ScratchSeq2SeqForConditionalGeneration, _all_tokens, UNCACHED_PAIR)

ENCODERS = (ENCODER, MASKED_LM, TEXTS, TOKENS, SPANS)
DECODERS = (DECODER, CAUSAL_LM, DECODER_TEXTS)
SEQ2SEQS = (SEQ2SEQ, SEQ2SEQ_LM)
ONE_STACK = (*ENCODERS, *DECODERS)
CASES = (*ENCODERS, *DECODERS, *SEQ2SEQS)
PACKED_HEADS = (MASKED_LM, TEXTS, TOKENS, CAUSAL_LM, DECODER_TEXTS)  # whose labels say all when texts are packed
HEADS = tuple(case for case in CASES if case.make_labels is not _nothing)

LENGTHS = (6, 1, 9, 4)
_llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
POSITIONS: dict[str, dict[str, Any]] = {
    "none": {"position_type": "none"},
    "learned": {"position_type": "learned"},
    "learned_from_2": {"position_type": "learned", "position_offset": 2},
    "sinusoidal": {"position_type": "sinusoidal"},
    "sinusoidal_halves": {"position_type": "sinusoidal_halves"},
    "rotary": {"position_type": "rotary"},
    "alibi": {"position_type": "alibi"},
    "relative": {"position_type": "relative", "relative_attention_max_distance": 32},
    "rotary_local": {"position_type": "rotary", "sliding_window": 4},
    "rotary_linear": {"position_type": "rotary", "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "rotary_dynamic": {"position_type": "rotary", "rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
    "rotary_llama3": {
        "position_type": "rotary", "rope_parameters": {**_llama3, "original_max_position_embeddings": 16},
    },
}  # fmt: skip
BACKENDS = "eager", "sdpa"
backends = pytest.mark.parametrize("backend", BACKENDS)
engines = pytest.mark.usefixtures("engine")


@pytest.fixture
def low_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes batches, products and dropout of any size, on any processor, and short texts in many calls."""
    monkeypatch.setattr(fast.engine, "LEAST_TOKENS", 1)
    monkeypatch.setattr(fast.bin_packing, "CALL_COST", 100)
    monkeypatch.setattr(fast.bin_packing, "PADDING_COST", 1)
    monkeypatch.setattr(fast.forwards, "LEAST_DROPPED", 1)
    monkeypatch.setattr(fast.forwards, "LEAST_WORK", 1)
    monkeypatch.setattr(fast.forwards, "has_faster_library", lambda: fast.forwards.HAS_ONEDNN)


def texts(seed: int = 0, lengths: Sequence[int] = LENGTHS) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(1, TINY["vocab_size"], (length,), generator=generator) for length in lengths]


def packed(case: Case, lengths: Sequence[int] = LENGTHS) -> dict[str, Any]:
    """All texts in one row, in the form that collators make, with labels for each token or each text."""
    found, ids = torch.tensor(lengths), torch.cat(texts(lengths=lengths))[None]
    labels = torch.arange(len(lengths)) % 3 if case in (TEXTS, DECODER_TEXTS) else ids % 3
    return {"input_ids": ids, "position_ids": restarting(lengths), "labels": labels, **boundaries(found)}


def restarting(lengths: Sequence[int]) -> Tensor:
    """Positions of texts that stand one after another: (1, tokens)."""
    return torch.cat([torch.arange(length) for length in lengths])[None]


def boundaries(lengths: Tensor) -> dict[str, Any]:
    """What collators tell kernels of them."""
    ends, longest = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32), int(lengths.max())
    return {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": longest, "max_length_k": longest}


def padded(rows: list[Tensor], side: str, length: int, filler: int = 0) -> Batch:
    """The texts as one batch of this length, filled up on one side."""
    ids, mask = torch.full((len(rows), length), filler), torch.zeros(len(rows), length, dtype=torch.long)
    for i, row in enumerate(rows):
        place = slice(length - len(row), length) if side == "left" else slice(len(row))
        ids[i, place], mask[i, place] = row, 1
    return {"input_ids": ids, "attention_mask": mask}


def of_real_tokens(value: Tensor, mask: Tensor) -> Tensor:
    """(B, T, ...) -> (tokens, ...), text after text; what has one row a text stays as it is."""
    return value[mask.bool()] if value.shape[:2] == mask.shape else value


def parametrize_cases(cases: tuple[Case, ...] = CASES) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.model_class.__name__)


every_switch = pytest.mark.parametrize("settings", SWITCHES.values(), ids=SWITCHES)


def in_turn(
    cases: tuple[Case, ...] = CASES, choices: dict[str, dict] = SWITCHES, backends: Sequence[str] = BACKENDS
) -> pytest.MarkDecorator:
    """Each class and each setting at least once, with one of the other, and a backend that alternates."""
    rows = zip(cases * len(choices), cycle(choices.items()), cycle(backends))
    params = [
        pytest.param(case, {"attn_implementation": backend, **settings}, id=f"{case.model_class.__name__}-{name}")
        for case, (name, settings), backend in rows
    ]
    return pytest.mark.parametrize(("case", "settings"), params[: max(len(cases), len(choices))])


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def assert_same_outputs(left: Any, right: Any, atol: float = 0.0, where: Tensor | None = None) -> None:
    """The same fields with the same values; where (B, T) limits those of shape (B, T, ...) to real tokens."""
    assert left.keys() == right.keys()
    for name, value in left.items():
        pairs = zip(value, right[name], strict=True) if isinstance(value, tuple) else [(value, right[name])]
        for one, other in pairs:
            if where is not None and one.shape[:2] == where.shape:
                one, other = one[where.bool()], other[where.bool()]
            torch.testing.assert_close(one, other, atol=atol, rtol=0)


def assert_same_answers(found: Any, expected: Any) -> None:
    """Of pipelines: nested lists and dictionaries, their keys in order, of the same texts and, to rounding, numbers."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same_answers(one, other)
    elif isinstance(expected, str | int | None):
        assert found == expected
    else:
        assert float(found) == pytest.approx(float(expected), abs=1e-5)


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
