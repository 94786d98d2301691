# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What callers of any Hugging Face model rely on: the checks of the doctor, outputs of the config, and devices."""

import re

import pytest
from model_cases import (
    BACKENDS,
    CAUSAL_LM,
    CLASSES,
    MASK,
    TEXTS,
    TINY,
    Case,
    engines,
    in_turn,
    parametrize_cases,
)

from modeling_scratch import doctor
from modeling_scratch.doctor.examination import CHECKS

# Checks that take some, for which see test_saving.py, test_tracing.py and test_fresh_processes.py.
SECONDS = {"auto_classes", "one_graph", "missing_keys", "fresh_process"}
HOLD = {
    "attention_backends", "batch_equals_single", "embeddings_as_inputs", "half_precision", "hidden_states",
    "round_trip",
}  # fmt: skip


@pytest.mark.parametrize("seconds", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick", "long"])
@in_turn()
def test_the_doctor_finds_nothing(case: Case, settings: dict, seconds: bool) -> None:
    """Its checks, each of which finds the fault that is planted for it in tests/doctor."""
    only = [check.name for check in CHECKS if (check.name in SECONDS) == seconds]
    diagnosis = doctor.check(case.model_class, case.config(**{"pad_token_id": 0, **settings}), only=only)
    assert diagnosis.is_sound, str(diagnosis)
    assert seconds or {finding.check for finding in diagnosis.of(doctor.Verdict.HOLDS)} >= HOLD


@parametrize_cases((TEXTS, CAUSAL_LM))
def test_a_config_may_ask_for_all_outputs(case: Case) -> None:
    """Also when the backend is chosen later, as loading does: never an empty tuple. Padding has no weight."""
    model, real = case.model(output_attentions=True, output_hidden_states=True), MASK.bool()
    layers, heads = TINY["num_hidden_layers"], TINY["num_attention_heads"]
    for backend in BACKENDS:
        model.set_attn_implementation(backend)
        outputs = model(**case.batch())
        assert len(outputs.hidden_states) == layers + 1
        assert [weights.shape for weights in outputs.attentions] == [(*MASK.shape[:1], heads, 9, 9)] * layers
        for weights in outputs.attentions:
            at_padding = (weights * ~real[:, None, None]).transpose(1, 2)  # (B, T, H, S)
            assert (at_padding[real] == 0).all()


@engines
@in_turn()
def test_every_tensor_is_made_on_the_device_of_the_model(case: Case, settings: dict) -> None:
    """On the meta device a tensor of the CPU among the others is an error, and so is a look at a value: a wait."""
    model = case.model(**settings, **CLASSES).train().to("meta")
    batch = {name: value.to("meta") for name, value in case.batch().items() if "mask" not in name}
    outputs = model(**batch)
    outputs.get("loss", outputs[0].sum()).backward()
    assert all(parameter.grad.shape == parameter.shape for parameter in model.parameters())


@parametrize_cases()
def test_tensor_parallel_plan_names_every_projection_of_a_block(case: Case) -> None:
    """With gates and without. Rules of layers that this model lacks have no effect.

    A bias of positions is one of all heads, which have to stay together.
    """
    for activation, position in ("swiglu", "rotary"), ("relu", "sinusoidal"), ("relu", "alibi"), ("relu", "relative"):
        model = case.model(hidden_act=activation, position_type=position)
        modules = {re.sub(r"\.\d+\.", ".*.", name) for name, _ in model.named_modules()}
        whole = ".attention." if position in ("alibi", "relative") else "none"
        shared = {name for name in modules if name.endswith("_proj") and "layers" in name and whole not in name}
        assert not any(whole in name for name in model.tp_plan)
        assert shared - model.tp_plan.keys() == set()
