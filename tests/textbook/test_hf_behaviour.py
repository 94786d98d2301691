# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What callers of any Hugging Face model rely on: outputs, their names and shapes, embeddings, precision, backends."""

import re

import pytest
import torch
from model_cases import (
    BACKENDS,
    CAUSAL_LM,
    CLASSES,
    MASK,
    SEQ2SEQ_LM,
    TEXTS,
    TINY,
    Case,
    engines,
    in_turn,
    parametrize_cases,
)

from modeling_scratch import doctor
from modeling_scratch.doctor.examination import CHECKS

BATCH, LENGTH = MASK.shape
LAYERS, N_HEADS = TINY["num_hidden_layers"], TINY["num_attention_heads"]
# Checks that take some, for which see test_saving.py, test_tracing.py and test_fresh_processes.py.
SECONDS = {"auto_classes", "one_graph", "missing_keys", "fresh_process"}
HOLD = {"attention_backends", "half_precision", "embeddings_as_inputs", "hidden_states", "padding_right", "round_trip"}


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
    base = model.base_model(**case.inputs()).last_hidden_state
    for backend in BACKENDS:
        model.set_attn_implementation(backend)
        outputs = model(**case.batch())
        assert len(outputs.hidden_states) == LAYERS + 1
        torch.testing.assert_close(outputs.hidden_states[-1][real], base[real], atol=1e-5, rtol=0)
        assert [weights.shape for weights in outputs.attentions] == [(BATCH, N_HEADS, LENGTH, LENGTH)] * LAYERS
        for weights in outputs.attentions:
            at_padding = (weights * ~real[:, None, None]).transpose(1, 2)  # (B, T, H, S)
            assert (at_padding[real] == 0).all()


SIDES = [(TEXTS, ""), (CAUSAL_LM, ""), (SEQ2SEQ_LM, ""), (SEQ2SEQ_LM, "decoder_")]


@pytest.mark.parametrize(("case", "side"), SIDES, ids=[f"{side}{case.model_class.__name__}" for case, side in SIDES])
def test_an_input_that_cannot_be_read_is_refused_by_its_name(case: Case, side: str) -> None:
    """Of each side of an encoder-decoder, too."""
    model, inputs = case.model(), case.inputs()
    ids, name, mask_name = inputs[f"{side}input_ids"], f"{side}input_ids", f"{side}attention_mask"
    embeds = model.get_input_embeddings()(ids)
    if not side:
        for wrong in {**inputs, "input_ids": None}, {**inputs, "inputs_embeds": embeds}:
            with pytest.raises(ValueError, match=r"input_ids or .*inputs_embeds"):
                model(**wrong)
    without = {other: value for other, value in inputs.items() if other not in (name, mask_name)}

    unreadable = {name: (ids[:, :0], ids[:0], ids[0]), f"{side}inputs_embeds": (embeds[:, :0], embeds[0])}
    for wrong_name, values in unreadable.items():
        for wrong in values:
            shape = ", ".join(map(str, wrong.shape)) + "," * (wrong.ndim == 1)
            with pytest.raises(ValueError, match=rf"^{wrong_name} \({shape}\): has to be a tensor \(texts, tokens"):
                model(**{**without, wrong_name: wrong})
    for mask in MASK[:, :-1], MASK[:1], MASK[0], torch.ones(BATCH, LENGTH + 1), MASK.tolist():
        with pytest.raises(ValueError, match=rf"^{mask_name} \(.*\): has to be a tensor \({BATCH}, {LENGTH}\)"):
            model(**{**inputs, mask_name: mask})
    with pytest.raises(ValueError, match=rf"^{name} \(\): has to be a tensor"):
        model(**{**inputs, name: inputs[name].tolist()})
    for lowest, wrong in ((5, ids.clamp(5) + 60), (-3, ids.clamp(3, 9) - 6)):
        wrong[0, 0] = lowest
        with pytest.raises(IndexError, match=f"^input_ids from {lowest} to {int(wrong.max())}, .* 0 to 63"):
            model(**{**inputs, name: wrong})


def test_token_types_that_the_model_lacks_and_a_mask_of_another_length_than_the_source_are_named() -> None:
    inputs = TEXTS.inputs()
    with pytest.raises(IndexError, match=r"^token_type_ids from 0 to 2, .* 0 to 1: see config.type_vocab_size"):
        TEXTS.model(type_vocab_size=2)(**inputs, token_type_ids=inputs["input_ids"] % 3)
    model, inputs = SEQ2SEQ_LM.model(), SEQ2SEQ_LM.inputs()
    inputs |= {"encoder_outputs": model.get_encoder()(inputs.pop("input_ids"), inputs["attention_mask"])}
    with pytest.raises(ValueError, match=rf"^attention_mask .* \({BATCH}, {LENGTH}\)"):
        model(**{**inputs, "attention_mask": MASK[:, 1:]})


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
