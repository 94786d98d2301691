# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is loaded: missing weights, tables that are shared, vocabularies of another size; the rest: see the doctor."""

from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import (
    ENCODER,
    MASKED_LM,
    SEQ2SEQ_LM,
    TEXTS,
    TINY,
    Case,
    assert_same_outputs,
    in_turn,
)
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel


def assert_initialised(model: PreTrainedModel, name: str) -> None:
    """A fresh weight as the recipe has it: norms one, biases zero, the rest normal(0, initializer_range)."""
    weight = model.get_parameter(name)
    module = model.get_submodule(name.rpartition(".")[0])
    if name.endswith("bias"):
        assert (weight == 0).all()
    elif "Norm" in type(module).__name__:
        assert (weight == 1).all()
    else:
        assert weight.abs().max() < 6 * model.config.initializer_range
        assert weight.std() > 0.5 * model.config.initializer_range


@pytest.mark.parametrize(
    ("case", "settings"),
    [
        (TEXTS, {"classifier_activation": "tanh", "position_type": "learned"}),
        (MASKED_LM, {"embedding_size": 8, "embedding_norm": True}),
        (SEQ2SEQ_LM, {"tie_word_embeddings": False}),
    ],
    ids=["texts", "masked_lm", "seq2seq_lm"],
)
def test_missing_weights_are_reported_and_initialised_and_no_others_are_touched(
    case: Case, settings: dict, tmp_path: Path
) -> None:
    """Each of them once, and never a weight together with its bias."""
    model = case.model(**settings, num_hidden_layers=1)
    model.save_pretrained(tmp_path)
    file, weights = tmp_path / "model.safetensors", model.state_dict()
    saved = load_file(file)
    for missing in sorted(saved)[::2], sorted(saved)[1::2]:
        save_file({k: v for k, v in saved.items() if k not in missing}, file, metadata={"format": "pt"})
        loaded, info = case.model_class.from_pretrained(tmp_path, output_loading_info=True)
        places = {weights[name].data_ptr() for name in missing}
        shared = {name for name, value in weights.items() if value.data_ptr() in places}
        assert set(missing) <= info["missing_keys"] <= shared
        for name, value in loaded.state_dict().items():
            if name in shared:
                assert_initialised(loaded, name)
            else:
                assert torch.equal(value, weights[name]), name


@in_turn()
def test_initialisation_follows_the_recipe(case: Case, settings: dict, tmp_path: Path) -> None:
    """Both in a new model and where every weight of a file is missing.

    There are no buffers and bare tensors: loading, which builds the model without memory, makes garbage of them.
    """
    config = case.config(**settings, initializer_range=0.1)
    with torch.device("meta"):
        assert all(p.is_meta for p in case.model_class(config).parameters())
    config.save_pretrained(tmp_path)
    save_file({}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    for model in case.model_class(config), case.model_class.from_pretrained(tmp_path):
        assert not list(model.buffers())
        for module in model.modules():
            assert not [name for name, value in vars(module).items() if isinstance(value, Tensor)]
        for name, parameter in model.named_parameters():
            assert parameter.device.type == "cpu"
            assert_initialised(model, name)
        drawn = torch.cat([p.detach().flatten() for p in model.parameters() if p.ndim == 2])
        assert drawn.mean().abs() < 0.01
        assert drawn.std() == pytest.approx(0.1, rel=0.1)


# Tables

TWO_TABLES = {"decoder_vocab_size": 40, "share_encoder_decoder_embeddings": False}
UNTIED = {"tie_word_embeddings": False}


@pytest.mark.parametrize(
    ("settings", "count"), [({}, 1), (UNTIED, 2), (TWO_TABLES, 2), ({**TWO_TABLES, **UNTIED}, 3)], ids=str
)
def test_who_shares_a_table(settings: dict, count: int, tmp_path: Path) -> None:
    """After construction, loading and saving again: the same memory, and every tensor stored once."""
    case = SEQ2SEQ_LM
    model = case.model(**settings, embedding_size=8 if count > 1 else None, lm_head_bias=True)
    model.save_pretrained(tmp_path / "first")
    loaded, info = case.model_class.from_pretrained(tmp_path / "first", output_loading_info=True)
    assert not any(info.values())
    loaded.save_pretrained(tmp_path / "second")
    for one in model, loaded, case.model_class(model.config):
        encoder, decoder = (side.embeddings.tokens.weight for side in (one.model.encoder, one.model.decoder))
        assert len({weight.data_ptr() for weight in (encoder, decoder, one.lm_head.weight)}) == count
        assert (encoder is decoder) == ("share_encoder_decoder_embeddings" not in settings)
        assert (one.lm_head.weight is decoder) == ("tie_word_embeddings" not in settings)
    files = [tmp_path / name / "model.safetensors" for name in ("first", "second")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert load_file(files[0]).keys() == {name for name, _ in model.named_parameters()}
    batch = {name: value % 40 if name.endswith("ids") else value for name, value in case.inputs().items()}
    assert_same_outputs(loaded(**batch), model(**batch))


RESIZED: list[tuple[Case, dict[str, Any]]] = [
    (MASKED_LM, {}), (MASKED_LM, {"embedding_size": 8}), (MASKED_LM, UNTIED), (ENCODER, {"embedding_size": 8}),
    (MASKED_LM, {"embedding_size": 8, **UNTIED}), (SEQ2SEQ_LM, {"lm_head_bias": True}),
    (SEQ2SEQ_LM, {"lm_head_bias": True, **UNTIED}),
]  # fmt: skip


@pytest.mark.parametrize("new", [80, 40], ids=["more", "fewer"])
@pytest.mark.parametrize(("case", "settings"), RESIZED)
def test_resized_vocabulary(case: Case, settings: dict, new: int, tmp_path: Path) -> None:
    """The tokens that stay keep their vectors, logits and biases; what is saved afterwards loads."""
    model, known = case.model(**settings), min(new, TINY["vocab_size"])
    # Tokens that every vocabulary here has
    batch = {name: ids % known if name.endswith("input_ids") else ids for name, ids in case.inputs().items()}
    expected = model(**batch)[0][..., :known]
    embeddings = model.resize_token_embeddings(new)
    assert embeddings is model.get_input_embeddings()
    assert (embeddings.num_embeddings, model.config.vocab_size) == (new, new)
    torch.testing.assert_close(model(**batch)[0][..., :known], expected, atol=1e-5, rtol=0)
    if case is SEQ2SEQ_LM:
        assert model.config.decoder_vocab_size == new
        assert model.model.decoder.get_input_embeddings().weight is embeddings.weight
    if (decoder := model.get_output_embeddings()) is not None:
        assert (decoder.out_features, len(decoder.bias)) == (new, new)
        assert (decoder.weight is embeddings.weight) == settings.get("tie_word_embeddings", True)
    assert all(parameter.isfinite().all() for parameter in model.parameters())

    model.save_pretrained(tmp_path)
    loaded, info = case.model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values())
    assert_same_outputs(loaded(**batch), model(**batch))


def test_the_table_of_two_vocabularies_is_returned_as_it_is() -> None:
    model = SEQ2SEQ_LM.model(share_encoder_decoder_embeddings=False)
    assert model.resize_token_embeddings() is model.get_input_embeddings()
