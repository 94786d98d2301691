# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a token is before the first block: its row, its position, its type, each where the config says so."""

from typing import Any

import pytest
import torch
from model_cases import CAUSAL_LM, DECODER, ENCODER, TINY, assert_close, tiny
from shared import redraw

from modeling_scratch.embeddings import Embeddings

IDS = torch.tensor([[5, 3, 8, 1], [2, 9, 9, 4]])
PLACES = torch.arange(4)[None]
LIMIT = TINY["max_position_embeddings"]


def embeddings(**settings: Any) -> Embeddings:
    return redraw(Embeddings(tiny(**{"position_type": "none", **settings}), TINY["vocab_size"])).eval()


def test_factorised_embeddings_are_summed_and_normalised_before_they_are_projected() -> None:
    layer = embeddings(embedding_size=6, embedding_norm=True, position_type="learned", type_vocab_size=2)
    total = layer.tokens.weight[IDS] + layer.positions.weight[:4] + layer.token_types.weight[0]
    centred = total - total.mean(-1, keepdim=True)
    normal = centred / (total.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * layer.norm.weight + layer.norm.bias
    assert_close(layer(IDS, PLACES), normal @ layer.projection.weight.T + layer.projection.bias)


def test_a_text_beyond_the_learned_positions_is_refused_with_the_way_out() -> None:
    """Padding does not count, and texts that arrive packed are measured one by one."""
    learned = ENCODER.model(position_type="learned", position_offset=2)
    mask = torch.zeros(2, 3 * LIMIT, dtype=torch.long)
    mask[0, :LIMIT] = mask[1, -LIMIT:] = 1
    ids, packed = torch.ones(1, 3 * LIMIT, dtype=torch.long), torch.arange(LIMIT).repeat(3)[None]
    for inputs in {"input_ids": ids[:, :LIMIT]}, {"input_ids": torch.ones_like(mask), "attention_mask": mask}, {
        "input_ids": ids, "position_ids": packed
    }:  # fmt: skip
        assert learned(**inputs).last_hidden_state.isfinite().all()
    with pytest.raises(ValueError, match=f"of {LIMIT + 1} tokens, .*max_position_embeddings={LIMIT}.*truncation=True"):
        learned(ids[:, : LIMIT + 1])
    decoder = DECODER.model(position_type="learned")
    cache = decoder(ids[:, :LIMIT], use_cache=True).past_key_values
    with pytest.raises(ValueError, match=f"of {LIMIT + 1} tokens, .*max_position_embeddings={LIMIT}"):
        decoder(ids[:, :1], past_key_values=cache)
    longer = torch.cat([torch.arange(LIMIT + more) for more in (1, -1, 0)])[None]
    with pytest.raises(ValueError, match=f"of {LIMIT + 1} tokens, .*max_position_embeddings={LIMIT}"):
        learned(ids, position_ids=longer)
    with pytest.raises(ValueError, match="max_position_embeddings"):
        CAUSAL_LM.model(position_type="learned").generate(ids[:, :LIMIT], max_new_tokens=2, pad_token_id=0)
    for position_type in "none", "sinusoidal", "sinusoidal_halves", "rotary":
        assert ENCODER.model(position_type=position_type)(ids).last_hidden_state.isfinite().all()
