# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Vocabularies grow and shrink: embeddings, and the decoder that may share them, change together."""

from pathlib import Path

import pytest
import torch
from model_cases import ENCODER, MASKED_LM, SEQ2SEQ_LM, TEXTS, TINY, Case, assert_same_outputs
from torch import nn

TABLES = [(MASKED_LM, tied, size) for tied in (True, False) for size in (None, 8)]
TABLES += [(ENCODER, True, 8), (SEQ2SEQ_LM, True, None), (SEQ2SEQ_LM, False, None)]


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
