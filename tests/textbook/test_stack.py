# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The stack is torch's own encoder and, twice, its Transformer: weight for weight, gradient for gradient."""

from typing import Any

import pytest
import torch
from conftest import redraw
from model_cases import MASK, TINY, backends, engines
from torch import Tensor, nn

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderModel, ScratchSeq2SeqModel, presets
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
    return redraw(ScratchEncoderModel(presets.vaswani(ScratchEncoderConfig, **{**TINY, **settings}))).eval()


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


@engines
@backends
@pytest.mark.parametrize("hidden_act", ["relu", "gelu"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_it_is_the_encoder_of_torch(norm_position: str, hidden_act: str, backend: str) -> None:
    model = build(norm_position=norm_position, hidden_act=hidden_act, attn_implementation=backend)
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
    config = presets.vaswani(
        ScratchEncoderConfig, **TINY, norm_position=norm_position, norm_type=norm_type, attn_implementation="eager"
    )
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
    post, pre = (
        Stack(presets.vaswani(ScratchEncoderConfig, **TINY, norm_position=place), 2).state_dict().keys()
        for place in ("post", "pre")
    )
    assert pre - post == {"norm.weight", "norm.bias"}
    assert not post - pre


def test_a_stack_of_no_blocks_is_its_norm() -> None:
    states = torch.randn(2, 5, TINY["hidden_size"])
    assert torch.equal(Stack(presets.vaswani(ScratchEncoderConfig, **TINY), 0)(states), states)


# An encoder-decoder

TARGET = IDS.flip(0)[:, :7]
TARGET_REAL = torch.arange(7) < torch.tensor([7, 2, 5])[:, None]
SEQ2SEQ_NAMES = {
    "cross_attention.q_proj.": "multihead_attn.in_proj_",
    "cross_attention.o_proj": "multihead_attn.out_proj",
    "attention.q_proj.": "self_attn.in_proj_",
    "attention.o_proj": "self_attn.out_proj",
    "cross_attention_residual.norm": "norm2",
    "attention_residual.norm": "norm1",
    "feed_forward.up_proj": "linear1",
    "feed_forward.down_proj": "linear2",
}


def renamed_seq2seq(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Ours under torch's names; the last norm of a block is the second of an encoder, the third of a decoder."""
    found = {}
    for name, weight in weights.items():
        if ".stack." not in name or "k_proj" in name or "v_proj" in name:
            continue
        if "q_proj" in name:
            weight = torch.cat([weights[name.replace("q_proj", one)] for one in ("q_proj", "k_proj", "v_proj")])
        name = name.replace("stack.", "").replace(
            "feed_forward_residual.norm", "norm2" if name.startswith("encoder") else "norm3"
        )
        for ours, theirs in SEQ2SEQ_NAMES.items():
            name = name.replace(ours, theirs)
        found[name] = weight
    return found


def seq2seq_as_torch(model: ScratchSeq2SeqModel) -> nn.Transformer:
    """torch's Transformer with the weights of ours; it would end in a norm even where every block does."""
    config, pre = model.config, model.config.norm_position == "pre"
    other = nn.Transformer(
        config.hidden_size, config.num_attention_heads, config.num_hidden_layers, config.decoder_layers,
        config.intermediate_size, dropout=0.0, activation=config.hidden_act, layer_norm_eps=config.norm_eps,
        batch_first=True, norm_first=pre,
    )  # fmt: skip
    if not pre:
        other.encoder.norm = other.decoder.norm = None
    other.encoder.enable_nested_tensor = False
    other.load_state_dict(renamed_seq2seq(model.state_dict()))
    return other


@engines
@backends
@pytest.mark.parametrize("hidden_act", ["relu", "gelu"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_it_is_the_transformer_of_torch(norm_position: str, hidden_act: str, backend: str) -> None:
    """The base model of 2017: values and gradients, with padding on both sides and no look ahead."""
    preset = presets.vaswani(
        **{**TINY, "norm_position": norm_position, "hidden_act": hidden_act, "decoder_layers": 3, "use_cache": False},
        attn_implementation=backend,
    )
    model = redraw(ScratchSeq2SeqModel(preset)).eval()
    other = seq2seq_as_torch(model)
    outputs = model(IDS, MASK, TARGET, TARGET_REAL.long())
    embedded = [
        coder.embeddings(ids, torch.arange(ids.shape[1])[None] if coder is model.decoder else MASK.cumsum(-1) - 1)
        for coder, ids in ((model.encoder, IDS), (model.decoder, TARGET))
    ]
    expected = other(
        *(states.detach() for states in embedded), tgt_mask=nn.Transformer.generate_square_subsequent_mask(7).bool(),
        src_key_padding_mask=~REAL, tgt_key_padding_mask=~TARGET_REAL, memory_key_padding_mask=~REAL,
    )  # fmt: skip
    found = outputs.last_hidden_state[TARGET_REAL]
    torch.testing.assert_close(found, expected[TARGET_REAL], atol=1e-5, rtol=0)

    outputs.last_hidden_state[TARGET_REAL].square().mean().backward()
    expected[TARGET_REAL].square().mean().backward()
    gradients = renamed_seq2seq({name: p.grad for name, p in model.named_parameters()})
    for name, parameter in other.named_parameters():
        torch.testing.assert_close(gradients.pop(name), parameter.grad, atol=1e-5, rtol=0)
    assert not gradients
