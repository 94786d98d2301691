# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Vocabularies grow and shrink: embeddings, and the decoder that may share them, change together."""

from pathlib import Path

import pytest
import torch
from model_cases import ENCODER, MASKED_LM, TEXTS, TINY, Case, assert_same_outputs
from torch import nn

TABLES = [(MASKED_LM, tied, size) for tied in (True, False) for size in (None, 8)]


@pytest.mark.parametrize("new", [80, 40], ids=["more", "fewer"])
@pytest.mark.parametrize(("case", "tied", "size"), [*TABLES, (ENCODER, True, 8)])
def test_resized_vocabulary(case: Case, tied: bool, size: int | None, new: int, tmp_path: Path) -> None:
    """The tokens that stay keep their vectors, logits and biases; what is saved afterwards loads."""
    model = case.model(tie_word_embeddings=tied, embedding_size=size)
    known = min(new, TINY["vocab_size"])
    inputs = case.inputs()
    batch = {**inputs, "input_ids": inputs["input_ids"] % known}  # tokens that every vocabulary here has
    expected = model(**batch)[0][..., :known]
    embeddings = model.resize_token_embeddings(new)
    assert embeddings is model.get_input_embeddings()
    assert (embeddings.num_embeddings, model.config.vocab_size) == (new, new)
    assert torch.equal(model(**batch)[0][..., :known], expected)
    if (decoder := model.get_output_embeddings()) is not None:
        assert (decoder.out_features, len(decoder.bias)) == (new, new)
        assert (decoder.weight is embeddings.weight) == tied
    assert all(parameter.isfinite().all() for parameter in model.parameters())

    model.save_pretrained(tmp_path)
    loaded, info = case.model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values())
    assert_same_outputs(loaded(**batch), model(**batch))


def test_embeddings_can_be_exchanged() -> None:
    assert TEXTS.model().get_output_embeddings() is None
    model = MASKED_LM.model()
    new = nn.Embedding(TINY["vocab_size"], TINY["hidden_size"])
    model.set_input_embeddings(new)
    assert model.get_input_embeddings() is model.base_model.get_input_embeddings() is new
    decoder = nn.Linear(TINY["hidden_size"], TINY["vocab_size"])
    model.set_output_embeddings(decoder)
    model.tie_weights()
    assert model.get_output_embeddings() is decoder
    assert decoder.weight is new.weight
