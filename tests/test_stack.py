# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The stack is torch's own encoder, weight for weight, gradient for gradient."""

from typing import Any

import pytest
import torch
from conftest import redraw
from model_cases import MASK, TINY
from torch import Tensor, nn

from modeling_scratch import ScratchEncoderModel, presets
from modeling_scratch.stack import Block, Stack

REAL = MASK.bool()
IDS = torch.randint(1, TINY["vocab_size"], MASK.shape, generator=torch.Generator().manual_seed(1))

TORCH_NAMES = {
    "attention.q_proj.": "self_attn.in_proj_",
    "attention.o_proj": "self_attn.out_proj",
    "attention_residual.norm": "norm1",
    "feed_forward.up_proj": "linear1",
    "feed_forward.down_proj": "linear2",
    "feed_forward_residual.norm": "norm2",
}


def build(**settings: Any) -> ScratchEncoderModel:
    return redraw(ScratchEncoderModel(presets.vaswani(**{**TINY, **settings}))).eval()


def as_torch(model: ScratchEncoderModel) -> nn.TransformerEncoder:
    """torch's encoder with the weights of ours."""
    config, pre = model.config, model.config.norm_position == "pre"
    layer = nn.TransformerEncoderLayer(
        config.hidden_size, config.num_attention_heads, config.intermediate_size, dropout=0.0,
        activation=config.hidden_act, layer_norm_eps=config.norm_eps, batch_first=True, norm_first=pre,
    )  # fmt: skip
    final_norm = nn.LayerNorm(config.hidden_size, config.norm_eps) if pre else None
    encoder = nn.TransformerEncoder(layer, config.num_hidden_layers, final_norm, enable_nested_tensor=False)
    encoder.load_state_dict(renamed(model.stack.state_dict()))
    return encoder


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our weights under torch's names, which hold query, key and value in one."""
    found = {}
    for name, weight in weights.items():
        if "k_proj" in name or "v_proj" in name:
            continue
        if "q_proj" in name:
            weight = torch.cat([weights[name.replace("q_proj", one)] for one in ("q_proj", "k_proj", "v_proj")])
        for ours, theirs in TORCH_NAMES.items():
            name = name.replace(ours, theirs)
        found[name] = weight
    return found


@pytest.mark.parametrize("packs", [True, False], ids=["packed", "padded"])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("hidden_act", ["relu", "gelu"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_it_is_the_encoder_of_torch(norm_position: str, hidden_act: str, backend: str, packs: bool) -> None:
    model = build(norm_position=norm_position, hidden_act=hidden_act, attn_implementation=backend)
    model.packs_padded_batches = packs
    encoder = as_torch(model)
    embedded = model.embeddings(IDS, MASK.cumsum(-1) - 1).detach()

    output = model(IDS, MASK).last_hidden_state[REAL]
    expected = encoder(embedded, src_key_padding_mask=~REAL)[REAL]
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=0)

    output.square().mean().backward()
    expected.square().mean().backward()
    gradients = renamed({name: parameter.grad for name, parameter in model.stack.named_parameters()})
    for name, parameter in encoder.named_parameters():
        torch.testing.assert_close(gradients.pop(name), parameter.grad, atol=1e-5, rtol=0)
    assert not gradients


@pytest.mark.parametrize("norm_position", ["post", "pre"])
@pytest.mark.parametrize("norm_type", ["layer_norm", "rms_norm"])
def test_a_block_is_two_residual_connections(norm_position: str, norm_type: str) -> None:
    config = presets.vaswani(**TINY, norm_position=norm_position, norm_type=norm_type, attn_implementation="eager")
    block = redraw(Block(config, layer_idx=0)).eval()
    first, second = block.attention_residual.norm, block.feed_forward_residual.norm
    states = torch.randn(2, 5, TINY["hidden_size"], generator=torch.Generator().manual_seed(1))
    if norm_position == "pre":
        middle = states + block.attention(first(states))[0]
        expected = middle + block.feed_forward(second(middle))
    else:
        middle = first(states + block.attention(states)[0])
        expected = second(middle + block.feed_forward(middle))
    torch.testing.assert_close(block(states), expected, atol=1e-5, rtol=0)


def test_pre_norm_adds_one_norm_at_the_end_and_changes_no_other_name() -> None:
    post, pre = (Stack(presets.vaswani(**TINY, norm_position=place), 2).state_dict().keys() for place in ("post", "pre"))
    assert pre - post == {"norm.weight", "norm.bias"}
    assert not post - pre


def test_a_stack_of_no_blocks_is_its_norm() -> None:
    states = torch.randn(2, 5, TINY["hidden_size"])
    assert torch.equal(Stack(presets.vaswani(**{**TINY, "num_hidden_layers": 0}))(states), states)
