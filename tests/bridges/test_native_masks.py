# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Masks of every form, with and without a cache, mean what they mean to the native class."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from native_models import NATIVES, VOCAB, Native, pair
from torch import Tensor

from modeling_scratch import fast

BODIES = "ScratchEncoderModel", "ScratchDecoderForCausalLM", "ScratchSeq2SeqForConditionalGeneration"
ONE_EACH = [native for native in NATIVES if native.head in BODIES]
COUNT, LENGTH = 4, 9
LEAST = torch.finfo(torch.float32).min
IDS = torch.randint(4, VOCAB, (COUNT, LENGTH), generator=torch.Generator().manual_seed(3))
WHOLE, IN_STEPS = [(0, LENGTH)], [(0, 5), (5, 6), (6, LENGTH)]

BACKENDS = ("eager", "sdpa")
WAYS = [  # each family by one of them, and by the other among the slow tests
    pytest.param(native, backend, marks=[pytest.mark.slow] * (number % 2 != turn), id=f"{native.model_type}-{backend}")
    for number, native in enumerate(ONE_EACH)
    for turn, backend in enumerate(BACKENDS)
]
every_way = pytest.mark.parametrize(("native", "backend"), WAYS)


def models(native: Native, backend: str) -> tuple[Any, Any]:
    """The native one, by a backend that it has, and ours."""
    reference, model = pair(native)
    reference.set_attn_implementation(backend if reference._supports_sdpa else "eager")
    model.set_attn_implementation(backend)
    return reference, model


def steps_of(native: Native) -> list[list[tuple[int, int]]]:
    return [WHOLE] if native.head == "ScratchEncoderModel" else [WHOLE, IN_STEPS]


@torch.no_grad()
def answers(model: Any, mask: Tensor, source: Tensor | None, steps: list[tuple[int, int]]) -> Tensor:
    """Logits (B, T, V), or the states of an encoder. mask: of what is read in steps; source: that of an encoder."""
    cache, found, prefix = None, [], "" if source is None else "decoder_"
    for start, end in steps:
        seen = mask[:, :end] if mask.ndim == 2 else mask[:, :, start:end, :end]
        inputs = {f"{prefix}input_ids": IDS[:, start:end], f"{prefix}attention_mask": seen}
        inputs |= {} if source is None else {"input_ids": IDS.flip(1), "attention_mask": source}
        cached = {} if steps == WHOLE else {"past_key_values": cache, "use_cache": True}
        outputs = model(**inputs, **cached)
        cache = outputs.get("past_key_values")
        found.append(outputs[0])
    return torch.cat(found, 1)


def visible(native: Native, seed: int) -> Tensor:
    """(B, 1, T, T): each token sees itself and half of the others, of those before it in a decoder."""
    sees = torch.rand(COUNT, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(seed)) < 0.5
    sees |= torch.eye(LENGTH, dtype=torch.bool)
    return sees if native.head == "ScratchEncoderModel" else sees.tril()


def as_scores(sees: Tensor) -> Tensor:
    return torch.zeros(sees.shape).masked_fill(~sees, LEAST)


def scores(native: Native) -> Iterator[tuple[str, Tensor, Tensor]]:
    """A name, a mask (B, 1, T, S) for ours and the same for the native class, which may read fewer forms."""
    sees = visible(native, 1)
    yield "booleans", sees, as_scores(sees)
    yield "floats", as_scores(sees), as_scores(sees)
    if native.model_type != "mpt":  # which takes each number other than 0 for a token that is hidden
        biases = as_scores(sees) - sees * torch.rand(sees.shape, generator=torch.Generator().manual_seed(2))
        yield "biases", biases, biases


@every_way
def test_masks_of_scores(native: Native, backend: str) -> None:
    reference, model = models(native, backend)
    sources: list[Tensor | None] = [None, None]
    if native.is_seq2seq:  # (B, 1, 1, S), for both attentions that read the source
        sees = visible(native, 5)[:, :, 5:6]
        sources = [sees, as_scores(sees)]
    has_window = getattr(reference.config, "sliding_window", None) is not None  # a cache keeps its tokens alone
    for steps in [WHOLE] if has_window else steps_of(native):
        for name, ours, theirs in scores(native):
            found, expected = answers(model, ours, sources[0], steps), answers(reference, theirs, sources[1], steps)
            torch.testing.assert_close(found, expected, atol=2e-5, rtol=0, msg=f"{name} {steps}")


@every_way
def test_integers_are_no_scores(native: Native, backend: str) -> None:
    """Native eager attention adds them as they are; sdpa fails."""
    _, model = models(native, backend)
    mask = visible(native, 1).long()
    with pytest.raises(ValueError, match="would ignore or misread this attention_mask"):
        answers(model, mask, mask[:, :, :1] if native.is_seq2seq else None, WHOLE)


@every_way
def test_a_text_without_a_real_token(native: Native, backend: str) -> None:
    """Beside others, as the target, as the source: the others have their answers, and it has numbers."""
    reference, model = models(native, backend)
    mask = torch.ones(COUNT, LENGTH, dtype=torch.long)
    mask[0, 6:] = 0
    empty = mask.clone()
    empty[2] = 0
    real = empty.bool()
    for steps in steps_of(native):
        for dtype in (torch.long, torch.bool, torch.float32):
            pairs = [(empty.to(dtype), None)]
            if native.is_seq2seq:
                pairs = [(empty.to(dtype), mask.to(dtype)), (mask.to(dtype), empty.to(dtype))]
            for read, source in pairs:
                expected, found = answers(reference, read, source, steps), answers(model, read, source, steps)
                with fast.disabled():
                    whole = answers(model, read, source, steps)
                torch.testing.assert_close(found[real], expected[real], atol=2e-5, rtol=0)
                torch.testing.assert_close(whole[real], expected[real], atol=2e-5, rtol=0)
                assert found.isfinite().all()
                assert whole.isfinite().all()
