# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What callers of any Hugging Face model rely on: outputs, their names and shapes, embeddings, precision, backends."""

import copy
import re

import pytest
import torch
from model_cases import (
    BACKENDS,
    CAUSAL_LM,
    CLASSES,
    MASK,
    ONE_STACK,
    SEQ2SEQ_LM,
    TEXTS,
    TINY,
    Case,
    assert_same_outputs,
    engines,
    in_turn,
    parametrize_cases,
)

BATCH, LENGTH = MASK.shape
LAYERS, HIDDEN, N_HEADS = TINY["num_hidden_layers"], TINY["hidden_size"], TINY["num_attention_heads"]


@in_turn(ONE_STACK)
def test_hidden_states_and_attention_maps(case: Case, settings: dict) -> None:
    """States before each block and after the last; each row of a map is a distribution over the real tokens.

    Asking for them changes nothing else: a fused backend steps aside.
    """
    model = case.model(**settings)
    outputs = model(**case.batch(), output_hidden_states=True, output_attentions=True)
    assert [states.shape for states in outputs.hidden_states] == [(BATCH, LENGTH, HIDDEN)] * (LAYERS + 1)
    base = model.base_model(**case.inputs()).last_hidden_state
    torch.testing.assert_close(outputs.hidden_states[-1][MASK.bool()], base[MASK.bool()], atol=1e-5, rtol=0)
    assert [weights.shape for weights in outputs.attentions] == [(BATCH, N_HEADS, LENGTH, LENGTH)] * LAYERS
    for weights in outputs.attentions:
        real = weights.transpose(1, 2)[MASK.bool()]  # (tokens, H, S): rows of real queries
        torch.testing.assert_close(real.sum(-1), torch.ones(real.shape[:-1]))
        assert (weights * (1 - MASK)[:, None, None] == 0).transpose(1, 2)[MASK.bool()].all()
    plain = model(**case.batch())
    assert_same_outputs(plain, {name: outputs[name] for name in plain}, atol=1e-5, where=MASK)


def test_a_config_may_ask_for_all_outputs() -> None:
    """Also when the backend is chosen later, as loading does: never an empty tuple."""
    model = TEXTS.model(attn_implementation="eager", output_attentions=True, output_hidden_states=True)
    for backend in BACKENDS:
        model.set_attn_implementation(backend)
        outputs = model(**TEXTS.batch())
        assert len(outputs.hidden_states) == LAYERS + 1
        assert [weights.shape for weights in outputs.attentions] == [(BATCH, N_HEADS, LENGTH, LENGTH)] * LAYERS


@parametrize_cases()
def test_tuples_hold_what_dictionaries_hold(case: Case) -> None:
    model, extra = case.model(), {"output_hidden_states": True, "output_attentions": True}
    expected = model(**case.batch(), **extra).to_tuple()
    from_config = copy.deepcopy(model)
    from_config.config.return_dict = False
    for outputs in model(**case.batch(), **extra, return_dict=False), from_config(**case.batch(), **extra):
        assert isinstance(outputs, tuple)
        torch.testing.assert_close(outputs, expected, atol=0, rtol=0)


@in_turn()
def test_embeddings_stand_for_tokens(case: Case, settings: dict) -> None:
    """One of the two, and not neither."""
    model, batch = case.model(**settings), case.batch()
    expected, embeds = model(**batch), model.get_input_embeddings()(batch["input_ids"])
    neither = {name: value for name, value in batch.items() if name != "input_ids"}
    for wrong in neither, {**batch, "inputs_embeds": embeds}:
        with pytest.raises(ValueError, match=r"input_ids or .*inputs_embeds"):
            model(**wrong)
    assert_same_outputs(model(**neither, inputs_embeds=embeds), expected)


SIDES = [(TEXTS, ""), (CAUSAL_LM, ""), (SEQ2SEQ_LM, ""), (SEQ2SEQ_LM, "decoder_")]


@pytest.mark.parametrize(("case", "side"), SIDES, ids=[f"{side}{case.model_class.__name__}" for case, side in SIDES])
def test_an_input_that_cannot_be_read_is_refused_by_its_name(case: Case, side: str) -> None:
    """Of each side of an encoder-decoder, too."""
    model, inputs = case.model(), case.inputs()
    ids, name, mask_name = inputs[f"{side}input_ids"], f"{side}input_ids", f"{side}attention_mask"
    embeds = model.get_input_embeddings()(ids)
    without = {other: value for other, value in inputs.items() if other not in (name, mask_name)}

    unreadable = {name: (ids[:, :0], ids[:0], ids[0]), f"{side}inputs_embeds": (embeds[:, :0], embeds[0])}
    for wrong_name, values in unreadable.items():
        for wrong in values:
            shape = ", ".join(map(str, wrong.shape)) + "," * (wrong.ndim == 1)
            with pytest.raises(ValueError, match=rf"^{wrong_name} \({shape}\): has to be \(texts, tokens"):
                model(**{**without, wrong_name: wrong})
    for mask in MASK[:, :-1], MASK[:1], MASK[0], torch.ones(BATCH, LENGTH + 1):
        expected = f"{BATCH}, {LENGTH}" if mask.ndim == 2 else "texts, tokens"
        with pytest.raises(ValueError, match=rf"^{mask_name} \(.*\): has to be \({expected}\)"):
            model(**{**inputs, mask_name: mask})
    for listed in name, mask_name:
        with pytest.raises(TypeError, match=f"^{listed}: a list is no tensor"):
            model(**{**inputs, listed: inputs[listed].tolist()})
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


@in_turn()
def test_half_precision_is_close(case: Case, settings: dict) -> None:
    model = case.model(**settings)
    expected = model(**case.batch())
    for dtype in torch.bfloat16, torch.float16:
        outputs = copy.deepcopy(model).to(dtype)(**case.batch())
        with torch.autocast("cpu", dtype=dtype):
            mixed = model(**case.batch())
        for name, value in expected.items():
            assert name == "loss" or outputs[name].dtype == dtype
            for other in outputs[name], mixed[name]:
                assert (other.float() - value).norm() <= 0.05 * value.norm(), name


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
