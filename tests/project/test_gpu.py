# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""On a CUDA device: the same answers and gradients as on the CPU, and no step that waits."""

from typing import Any

import pytest
import torch
from model_cases import (
    CAUSAL_LM,
    CLASSES,
    PACKED_HEADS,
    SEQ2SEQ_LM,
    TEXTS,
    WHOLE,
    Case,
    every_switch,
    of_real_tokens,
    packed,
    parametrize_cases,
)
from torch import Tensor, nn

from modeling_scratch.benchmark.data import on_device as moved

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("exact_products"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
DEVICE = torch.device("cuda")
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}  # of the largest
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def on_device(batch: dict[str, Any]) -> dict[str, Any]:
    return moved(batch, DEVICE.type)


def step(model: nn.Module, batch: dict[str, Any]) -> dict[str, Tensor]:
    outputs = model(**batch)
    outputs.loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {"logits": outputs.logits, "loss": outputs.loss, **gradients}


def assert_near(found: dict[str, Tensor], expected: dict[str, Tensor], dtype: torch.dtype) -> None:
    for name, value in expected.items():
        answer, scale = found[name].detach().cpu().float(), max(1.0, float(value.detach().abs().max()))
        torch.testing.assert_close(
            answer, value, atol=TOLERANCE[dtype] * scale, rtol=0, msg=lambda text, name=name: f"{name}: {text}"
        )


@every_dtype
@every_switch
@pytest.mark.parametrize("form", ["packed", "padded"])
@parametrize_cases((*PACKED_HEADS, SEQ2SEQ_LM))
def test_texts_have_the_answers_and_gradients_of_the_cpu(
    case: Case, form: str, settings: dict, dtype: torch.dtype
) -> None:
    if form == "packed" and case is SEQ2SEQ_LM:
        pytest.skip("an encoder-decoder takes padded batches")
    batch, settings = (packed(case), {**settings, **WHOLE}) if form == "packed" else (case.batch(), settings)
    expected = step(case.model(**settings), batch)
    model = case.model(**settings).to(DEVICE)
    with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
        found = step(model, on_device(batch))
    if form == "padded":
        for outputs in (expected, found):
            outputs["logits"] = of_real_tokens(outputs["logits"].detach().cpu(), batch["attention_mask"])
    assert_near(found, expected, dtype)


@parametrize_cases(PACKED_HEADS)
def test_a_training_step_waits_for_nothing(case: Case) -> None:
    """Forward with dropout, backward, clipping and AdamW, as Trainer has them; the first step may set things up."""
    model = case.model(**WHOLE, **CLASSES, hidden_dropout=0.1, attention_dropout=0.1).to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    batch = on_device(packed(case))
    for mode in ("default", "error"):
        torch.cuda.set_sync_debug_mode(mode)
        try:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(**batch).loss
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("case", [CAUSAL_LM, SEQ2SEQ_LM], ids=["decoder", "encoder-decoder"])
@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"cache_implementation": "static"}], ids=str)
def test_writes_what_the_cpu_writes(case: Case, options: dict) -> None:
    model, batch = case.model(use_cache=True), case.inputs()
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    settings = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "eos_token_id": 2, **options}
    expected = model.generate(**inputs, **settings)
    model.to(DEVICE)
    assert torch.equal(model.generate(**on_device(inputs), **settings).cpu(), expected)
    if case is CAUSAL_LM:  # for which transformers moves prompts to the device
        assert torch.equal(model.generate(**inputs, **settings).cpu(), expected)


def test_a_compiled_step_on_packed_texts_is_the_same() -> None:
    models = [TEXTS.model(**WHOLE, **CLASSES).to(DEVICE, torch.bfloat16) for _ in range(2)]
    expected = step(models[0], on_device(packed(TEXTS)))
    found = step(torch.compile(models[1], fullgraph=True), on_device(packed(TEXTS)))
    found = {name.removeprefix("_orig_mod."): value for name, value in found.items()}
    assert_near(found, {name: value.detach().cpu().float() for name, value in expected.items()}, torch.bfloat16)
