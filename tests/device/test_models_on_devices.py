# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models on stand-ins of accelerators: the answers, gradients and texts of the CPU, and no needless wait."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import lively
from model_cases import (
    CASES,
    CAUSAL_LM,
    CLASSES,
    DECODER_TEXTS,
    MASK,
    MASKED_LM,
    PACKED_HEADS,
    SEQ2SEQ_LM,
    SWITCHES,
    TEXTS,
    WHOLE,
    Case,
    every_switch,
    of_real_tokens,
    packed,
    parametrize_cases,
)
from native_models import Native
from own_process import in_own_process
from stand_in_device import NAMES, stand_in
from torch import Tensor
from transformers import AutoModel

from modeling_scratch import fast
from modeling_scratch.benchmark.data import on_device

TOLERANCE = 1e-4


def step(model: Any, batch: dict[str, Any]) -> dict[str, Tensor]:
    """Loss, first output and all gradients; the loss of a bare model is one of its real tokens."""
    outputs = model(**batch)
    answer = next(value for name, value in outputs.items() if name not in ("loss", "past_key_values"))
    loss = outputs.get("loss")
    if loss is None:
        loss = (answer * batch["attention_mask"][..., None]).square().sum()
    loss.backward()
    gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    is_padded = "attention_mask" in batch
    answer = of_real_tokens(answer.detach().cpu(), MASK) if is_padded else answer.detach().cpu()
    return {"loss": loss.detach().cpu(), "answer": answer} | {name: each.cpu() for name, each in gradients.items()}


def check_case(name: str, case: Case, form: str, settings: dict[str, Any]) -> None:
    batch = packed(case) if form == "packed" else case.batch()
    expected = step(case.model(**settings), batch)
    found = step(case.model(**settings).to(name), on_device(batch, name))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        scale = max(1.0, float(value.abs().max()))
        torch.testing.assert_close(
            found[key], value, atol=TOLERANCE * scale, rtol=0, msg=lambda text, key=key: key + text
        )


def forms(case: Case) -> list[str]:
    return ["padded", "packed"] if case in PACKED_HEADS else ["padded"]


@in_own_process
def test_some_models_compute_what_they_compute_on_a_cpu() -> None:
    for name, case, form in (("cuda", TEXTS, "packed"), ("mps", SEQ2SEQ_LM, "padded")):
        with stand_in(name):
            check_case(name, case, form, {**SWITCHES["pre-rotary-grouped"], **WHOLE})


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@parametrize_cases()
@in_own_process
def test_every_model_computes_what_it_computes_on_a_cpu(name: str, case: Case) -> None:
    """With every switch, padded and packed, by both engines."""
    with stand_in(name):
        for settings, form in product(SWITCHES.values(), forms(case)):
            check_case(name, case, form, {**settings, **WHOLE})
            with fast.disabled():
                check_case(name, case, form, settings)


@pytest.mark.slow
@every_switch
@in_own_process
def test_packed_texts_in_mixed_precision_go_through_the_kernels_of_cuda(settings: dict) -> None:
    with stand_in("cuda"), torch.autocast("cuda", dtype=torch.bfloat16):
        for case in (MASKED_LM, TEXTS, CAUSAL_LM):
            with torch.autocast("cuda", enabled=False):
                expected = step(case.model(**{**settings, **WHOLE}), packed(case))
            found = step(case.model(**{**settings, **WHOLE}).to("cuda"), on_device(packed(case), "cuda"))
            for key in ("loss", "answer"):
                scale = max(1.0, float(expected[key].abs().max()))
                assert (found[key].float() - expected[key]).abs().max() < 5e-2 * scale


def training_waits(model: Any, batch: dict[str, Any], name: str, **options: Any) -> Counter[str]:
    """Of the second step with clipping and AdamW; the first may set things up."""
    with stand_in(name) as device:
        model.to(name).train()
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        batch = on_device(batch, name)
        for _ in range(2):
            device.waits.clear()
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return Counter(device.waits)


@in_own_process
def test_packed_steps_on_cuda_wait_for_nothing() -> None:
    assert training_waits(TEXTS.model(**WHOLE, **CLASSES, attention_dropout=0.0), packed(TEXTS), "cuda") == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@parametrize_cases(PACKED_HEADS)
@in_own_process
def test_a_step_waits_no_more_than_that_of_the_native_class(name: str, case: Case) -> None:
    if name == "cuda":
        assert training_waits(case.model(**WHOLE, **CLASSES, attention_dropout=0.0), packed(case), name) == {}
    family = "gpt2" if case in (CAUSAL_LM, DECODER_TEXTS) else "bert"
    native = Native(family, case.model_class.__name__).model()
    batch = case.batch() | {"input_ids": case.batch()["input_ids"].clamp(max=49)}
    batch["labels"] = batch["labels"].clamp(max=49)
    theirs = training_waits(native, batch, name)
    assert training_waits(case.model(**CLASSES), batch, name) <= theirs


def generated(model: Any, inputs: dict[str, Tensor], **options: Any) -> list[list[int]]:
    settings = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "eos_token_id": 2, **options}
    return model.generate(**inputs, **settings).tolist()


def check_generation(name: str, case: Case, options: dict[str, Any]) -> None:
    model, batch = lively(case.model(use_cache=True)), case.inputs()
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    expected = generated(model, inputs, **options)
    assert generated(model.to(name), on_device(inputs, name), **options) == expected


OPTIONS: tuple[dict[str, Any], ...] = ({}, {"num_beams": 3})


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("case", [CAUSAL_LM, SEQ2SEQ_LM], ids=["decoder", "encoder-decoder"])
@in_own_process
def test_every_search_writes_what_the_cpu_writes(name: str, case: Case, options: dict) -> None:
    with stand_in(name):
        check_generation(name, case, options)
        with fast.disabled():
            check_generation(name, case, options)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@parametrize_cases(tuple(case for case in CASES if "For" not in case.model_class.__name__))
@in_own_process
def test_a_saved_model_comes_back(name: str, case: Case, tmp_path: Path) -> None:
    with stand_in(name):
        model = case.model().to(name)
        model.save_pretrained(tmp_path)
        loaded = AutoModel.from_pretrained(tmp_path, device_map={"": name})
        assert {weight.device.type for weight in loaded.parameters()} == {name}
    with_cpu = AutoModel.from_pretrained(tmp_path)
    for key, weight in case.model().state_dict().items():
        assert torch.equal(with_cpu.state_dict()[key], weight)
