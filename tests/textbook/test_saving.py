# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is loaded: missing weights, devices, and vocabularies of another size; bits and names: see test_hf_behaviour."""

from pathlib import Path

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


# Vocabularies grow and shrink: embeddings, and the decoder that may share them, change together

TABLES = [(MASKED_LM, tied, size) for tied in (True, False) for size in (None, 8)]
TABLES += [(ENCODER, True, 8), (SEQ2SEQ_LM, True, None), (SEQ2SEQ_LM, False, None)]


def test_the_table_of_two_vocabularies_is_returned_as_it_is() -> None:
    model = SEQ2SEQ_LM.model(share_encoder_decoder_embeddings=False)
    assert model.resize_token_embeddings() is model.get_input_embeddings()


@pytest.mark.parametrize("new", [80, 40], ids=["more", "fewer"])
@pytest.mark.parametrize(("case", "tied", "size"), TABLES)
def test_resized_vocabulary(case: Case, tied: bool, size: int | None, new: int, tmp_path: Path) -> None:
    """The tokens that stay keep their vectors, logits and biases; what is saved afterwards loads."""
    bias = {"lm_head_bias": True} if case is SEQ2SEQ_LM else {}
    model = case.model(tie_word_embeddings=tied, embedding_size=size, **bias)
    known = min(new, TINY["vocab_size"])
    inputs = case.inputs()
    # Tokens that every vocabulary here has
    batch = {name: ids % known if name.endswith("input_ids") else ids for name, ids in inputs.items()}
    expected = model(**batch)[0][..., :known]
    embeddings = model.resize_token_embeddings(new)
    assert embeddings is model.get_input_embeddings()
    assert (embeddings.num_embeddings, model.config.vocab_size) == (new, new)
    rounding = 1e-5 if case is SEQ2SEQ_LM else 0
    torch.testing.assert_close(model(**batch)[0][..., :known], expected, atol=rounding, rtol=0)
    if case is SEQ2SEQ_LM:
        assert model.config.decoder_vocab_size == new
        assert model.model.decoder.get_input_embeddings().weight is embeddings.weight
    if (decoder := model.get_output_embeddings()) is not None:
        assert (decoder.out_features, len(decoder.bias)) == (new, new)
        assert (decoder.weight is embeddings.weight) == tied
    assert all(parameter.isfinite().all() for parameter in model.parameters())

    model.save_pretrained(tmp_path)
    loaded, info = case.model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values())
    assert_same_outputs(loaded(**batch), model(**batch))
