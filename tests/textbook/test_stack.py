# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Two stacks are torch's own Transformer: weight for weight, gradient for gradient."""

from typing import Any

import pytest
import torch
from model_cases import MASK, SEQ2SEQ, TINY, assert_close, backends, draw_ids, engines, tiny
from torch import Tensor, nn

from modeling_scratch.stack import Stack

REAL = MASK.bool()
IDS, TARGET = draw_ids(1), draw_ids(2)[:, :7]
TARGET_REAL = torch.arange(7) < torch.tensor([7, 2, 5])[:, None]


# Ours: torch's, which hold query, key and value in one; the last norm of a decoder's block is its third.
TORCH_NAMES = {
    "stack.": "",
    "cross_attention.q_proj.": "multihead_attn.in_proj_",
    "cross_attention.o_proj": "multihead_attn.out_proj",
    "attention.q_proj.": "self_attn.in_proj_",
    "attention.o_proj": "self_attn.out_proj",
    "cross_attention_residual.norm": "norm2",
    "attention_residual.norm": "norm1",
    "feed_forward.up_proj": "linear1",
    "feed_forward.down_proj": "linear2",
}


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """What ours have in their stacks, under torch's names."""
    found = {}
    for name, weight in weights.items():
        if "stack." not in name or "k_proj" in name or "v_proj" in name:
            continue
        if "q_proj" in name:
            weight = torch.cat([weights[name.replace("q_proj", one)] for one in ("q_proj", "k_proj", "v_proj")])
        last = "norm3" if name.startswith("decoder.") else "norm2"
        for ours, theirs in {**TORCH_NAMES, "feed_forward_residual.norm": last}.items():
            name = name.replace(ours, theirs)
        found[name] = weight
    return found


def transformer_of_torch(config: Any) -> nn.Transformer:
    """It would end in a norm even where every block does."""
    other = nn.Transformer(
        config.hidden_size, config.num_attention_heads, config.num_hidden_layers, config.decoder_layers,
        config.intermediate_size, dropout=0.0, activation=config.hidden_act, layer_norm_eps=config.norm_eps,
        batch_first=True, norm_first=config.norm_position == "pre",
    )  # fmt: skip
    if config.norm_position == "post":
        other.encoder.norm = other.decoder.norm = None
    other.encoder.enable_nested_tensor = False
    return other


def assert_same(model: nn.Module, other: nn.Module, found: Tensor, expected: Tensor) -> None:
    """States, and the gradients of all weights."""
    assert_close(found, expected)
    found.square().mean().backward()
    expected.square().mean().backward()
    gradients = renamed({name: parameter.grad for name, parameter in model.named_parameters()})
    assert gradients.keys() == dict(other.named_parameters()).keys()
    for name, parameter in other.named_parameters():
        assert_close(gradients[name], parameter.grad)


@engines
@backends
@pytest.mark.parametrize(("norm_position", "hidden_act"), [("post", "relu"), ("pre", "gelu")])
def test_it_is_the_transformer_of_torch(norm_position: str, hidden_act: str, backend: str) -> None:
    """The base model of 2017, with padding on both sides and no look ahead."""
    settings = {"norm_position": norm_position, "hidden_act": hidden_act, "decoder_layers": 3, "use_cache": False}
    model = SEQ2SEQ.model(**settings, embedding_scale=True, attn_implementation=backend)
    other = transformer_of_torch(model.config)
    other.load_state_dict(renamed(model.state_dict()))
    source = model.encoder.embeddings(IDS, MASK.cumsum(-1) - 1).detach()
    target = model.decoder.embeddings(TARGET, torch.arange(7)[None]).detach()
    expected = other(
        source, target, tgt_mask=nn.Transformer.generate_square_subsequent_mask(7).bool(),
        src_key_padding_mask=~REAL, tgt_key_padding_mask=~TARGET_REAL, memory_key_padding_mask=~REAL,
    )  # fmt: skip
    found = model(IDS, MASK, TARGET, TARGET_REAL.long()).last_hidden_state
    assert_same(model, other, found[TARGET_REAL], expected[TARGET_REAL])


def test_a_stack_of_no_blocks_is_its_norm() -> None:
    states = torch.randn(2, 5, TINY["hidden_size"])
    assert torch.equal(Stack(tiny(), 0)(states, {}), states)
