# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Switches that models of tutorials and of the literature need, each beside an independent reference."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import redraw
from huggingface_hub.errors import StrictDataclassError
from model_cases import CAUSAL_LM, ENCODER, MASK, MASKED_LM, draw_ids, engines
from torch import Tensor, nn
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, RobertaConfig, RobertaModel
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.stablelm import StableLmConfig
from transformers.models.stablelm.modeling_stablelm import StableLmRotaryEmbedding, apply_rotary_pos_emb

from modeling_scratch import export_pretrained, load_pretrained
from modeling_scratch.positions import rotary, rotate

pytestmark = engines
IDS, REAL = draw_ids(), MASK.bool()
SIZES = {
    "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32,
}  # fmt: skip


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def copied(ours: nn.Linear | nn.LayerNorm, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


@torch.no_grad()
def encoder_of_torch(model: Any, norm_first: bool) -> nn.TransformerEncoder:
    """nn.TransformerEncoder of the same weights, its final norm where ours has one."""
    config = model.config
    layer = nn.TransformerEncoderLayer(
        config.hidden_size, config.num_attention_heads, config.intermediate_size, 0.0, "relu", batch_first=True,
        norm_first=norm_first,
    )  # fmt: skip
    norm = nn.LayerNorm(config.hidden_size) if isinstance(model.stack.norm, nn.LayerNorm) else None
    stack = nn.TransformerEncoder(layer, config.num_hidden_layers, norm, enable_nested_tensor=False)
    for ours, theirs in zip(model.stack.layers, stack.layers):
        projections = [ours.attention.q_proj, ours.attention.k_proj, ours.attention.v_proj]
        theirs.self_attn.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
        copied(ours.attention.o_proj, theirs.self_attn.out_proj)
        copied(ours.attention_residual.norm, theirs.norm1)
        copied(ours.feed_forward_residual.norm, theirs.norm2)
        copied(ours.feed_forward.up_proj, theirs.linear1)
        copied(ours.feed_forward.down_proj, theirs.linear2)
    if norm is not None:
        copied(model.stack.norm, stack.norm)
    return stack.eval()


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("final_norm", [True, False, None])
def test_a_final_norm_is_there_where_it_is_asked_for(norm_position: str, final_norm: bool | None) -> None:
    model = ENCODER.model(norm_position=norm_position, final_norm=final_norm)
    assert isinstance(model.stack.norm, nn.LayerNorm) == (norm_position == "pre" if final_norm is None else final_norm)
    embedded = model.embeddings(IDS, (MASK.cumsum(-1) - 1).clamp(min=0))
    expected = encoder_of_torch(model, norm_position == "pre")(embedded, src_key_padding_mask=~REAL)
    assert_close(model(IDS, MASK).last_hidden_state[REAL], expected[REAL])


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


def test_a_head_of_its_own_width_cannot_be_tied() -> None:
    with pytest.raises(StrictDataclassError, match=r"output_embedding_size=16 differs from embedding_size=6.*tie_word"):
        CAUSAL_LM.config(embedding_size=6, output_embedding_size=16)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_a_share_of_each_head_turns_as_in_stablelm(share: float) -> None:
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": share}
    config = StableLmConfig(hidden_size=64, num_attention_heads=4, rope_parameters=rope)
    position_ids = torch.arange(40)[None]
    cos, sin = StableLmRotaryEmbedding(config)(torch.zeros(1), position_ids)
    states = torch.randn(1, 40, 3, 16, generator=torch.Generator().manual_seed(0))
    turned, rest = states.split((cos.shape[-1], 16 - cos.shape[-1]), dim=-1)
    expected, _ = apply_rotary_pos_emb(turned, turned, cos, sin, unsqueeze_dim=2)
    assert_close(rotate(states, *rotary(position_ids, 16, rope, 64, torch.float32)), torch.cat((expected, rest), -1))


YARN = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 4.0, "original_max_position_embeddings": 16}


@pytest.mark.parametrize(
    "options",
    [
        {}, {"attention_factor": 0.7}, {"mscale": 0.8, "mscale_all_dim": 0.4}, {"truncate": False},
        {"beta_fast": 8.0, "beta_slow": 2.0}, {"factor": 1.0}, {"mscale": 0.8}, {"rope_theta": 500.0},
    ],
    ids=str,
)  # fmt: skip
def test_yarn_is_that_of_llama(options: dict[str, Any]) -> None:
    rope = {**YARN, **options}
    config = LlamaConfig(hidden_size=128, num_attention_heads=2, max_position_embeddings=64, rope_parameters=rope)
    position_ids = torch.arange(100)[None]
    expected = LlamaRotaryEmbedding(config)(torch.zeros(1), position_ids)
    for found, reference in zip(rotary(position_ids, 64, rope, 64, torch.float32), expected, strict=True):
        assert_close(found.squeeze(2), reference)


def test_a_llama_with_yarn_comes_and_goes(tmp_path: Any) -> None:
    config = LlamaConfig(**SIZES, num_key_value_heads=2, rope_parameters=YARN)
    reference = redraw(LlamaForCausalLM(config)).eval()
    reference.save_pretrained(tmp_path / "theirs")
    ours = load_pretrained(tmp_path / "theirs")
    ids = IDS[:1] % SIZES["vocab_size"]
    assert_close(ours(ids).logits, reference(ids).logits)
    export_pretrained(ours, tmp_path / "back")
    assert LlamaForCausalLM.from_pretrained(tmp_path / "back").config.rope_parameters == config.rope_parameters


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
