# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Switches that models of tutorials and of the literature need, each beside an independent reference."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import redraw
from model_cases import CAUSAL_LM, ENCODER, MASK, MASKED_LM, assert_close, draw_ids, engines
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from modeling_scratch import export_pretrained, load_pretrained

pytestmark = engines
IDS, REAL = draw_ids(), MASK.bool()
SIZES = {
    "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32,
}  # fmt: skip


@pytest.mark.parametrize("norm_type", ["layer_norm", "rms_norm"])
def test_the_output_of_a_sublayer_is_normalised_before_it_is_added(norm_type: str) -> None:
    """x + norm(f(x)), twice a block, and a final norm."""
    model = ENCODER.model(norm_position="output", norm_type=norm_type, position_type="none")
    states = model.embeddings.tokens(IDS)
    for block in model.stack.layers:
        attention = block.attention
        heads = [project(states).unflatten(-1, (4, -1)).transpose(1, 2) for project in (
            attention.q_proj, attention.k_proj, attention.v_proj
        )]  # fmt: skip
        seen = F.scaled_dot_product_attention(*heads, attn_mask=REAL[:, None, None])
        update = attention.o_proj(seen.transpose(1, 2).flatten(-2))
        states = states + block.attention_residual.norm(update)
        update = block.feed_forward.down_proj(block.feed_forward.up_proj(states).relu())
        states = states + block.feed_forward_residual.norm(update)
    assert_close(model(IDS, MASK).last_hidden_state[REAL], model.stack.norm(states)[REAL])


def test_positions_are_added_to_embeddings_of_full_width() -> None:
    settings = {"position_type": "learned", "type_vocab_size": 2, "embedding_norm": True, "embedding_size": 6}
    layer = ENCODER.model(**settings, positions_after_projection=True).embeddings
    positions = torch.arange(IDS.shape[1])
    expected = layer.projection(layer.tokens(IDS)) + layer.positions(positions) + layer.token_types.weight[0]
    assert_close(layer(IDS, positions[None]), layer.norm(expected))


@pytest.mark.parametrize("case", [CAUSAL_LM, MASKED_LM], ids=["causal_lm", "masked_lm"])
def test_a_head_may_be_wider_than_the_embeddings(case: Any, tmp_path: Any) -> None:
    model = case.model(embedding_size=6, output_embedding_size=16, tie_word_embeddings=False)
    table = model.get_output_embeddings()
    assert table.weight.shape == (64, 16)
    states = model.model(IDS, MASK).last_hidden_state
    if case is MASKED_LM:
        states = model.lm_head.norm(model.lm_head.dense(states).relu())
    assert_close(
        model(IDS, MASK).logits[REAL], (states @ table.weight.T + (0 if table.bias is None else table.bias))[REAL]
    )
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    assert torch.equal(again(IDS, MASK).logits, model(IDS, MASK).logits)


def test_no_native_class_turns_a_share_of_a_head(tmp_path: Any) -> None:
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
    settings = {"norm_type": "rms_norm", "norm_position": "pre", "hidden_act": "swiglu", "attention_bias": False}
    model = CAUSAL_LM.model(**settings, mlp_bias=False, position_type="rotary", rope_parameters=rope)
    with pytest.raises(ValueError, match="partial_rotary_factor"):
        export_pretrained(model, tmp_path / "back")


@pytest.mark.parametrize(("config", "native"), [(BertConfig, BertModel), (RobertaConfig, RobertaModel)])
def test_a_base_model_keeps_its_pooler(config: Any, native: Any, tmp_path: Any) -> None:
    reference = redraw(native(config(**SIZES, pad_token_id=0))).eval()
    reference.save_pretrained(tmp_path / "theirs")
    ours = load_pretrained(tmp_path / "theirs")
    ids = torch.randint(1, 60, MASK.shape, generator=torch.Generator().manual_seed(3))
    right = {"input_ids": ids[:2], "attention_mask": MASK[:2]}  # the library reads the first token, padding or not
    assert_close(ours(**right).pooler_output, reference(**right).pooler_output)
    export_pretrained(ours, tmp_path / "back")
    again = native.from_pretrained(tmp_path / "back").eval()
    assert torch.equal(again(**right).pooler_output, reference(**right).pooler_output)
