# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The settings of the literature are those of the literature: counted by hand, and BERT against the library's own."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from conftest import redraw
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from modeling_scratch import ScratchConfig, ScratchEncoderForSequenceClassification, ScratchEncoderModel, presets

Preset = Callable[..., ScratchConfig]
every_preset = pytest.mark.parametrize("preset", presets.ENCODERS.values(), ids=presets.ENCODERS)


def count(model_class: type[nn.Module], config: Any) -> int:
    """Without allocating what is counted."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in model_class(config).parameters())


def block_size(width: int, inner: int) -> int:
    attention = 4 * (width * width + width)
    feed_forward = (width * inner + inner) + (inner * width + width)
    return attention + feed_forward + 2 * (width + width)  # two norms


def test_vaswani_has_the_size_of_table_3() -> None:
    config = presets.vaswani()
    assert (config.num_hidden_layers, config.hidden_size, config.intermediate_size) == (6, 512, 2048)
    assert (config.num_attention_heads, config.head_dim, config.hidden_dropout) == (8, 64, 0.1)
    assert count(ScratchEncoderModel, config) == 32_000 * 512 + 6 * block_size(512, 2048)


def test_bert_has_the_size_of_bert() -> None:
    size = count(ScratchEncoderModel, presets.bert())
    assert size == (30_522 + 512 + 2) * 768 + 2 * 768 + 12 * block_size(768, 3072)
    with torch.device("meta"):
        bert = BertModel(BertConfig(), add_pooling_layer=False)
    assert size == bert.num_parameters()


def test_the_tutorial_classifier_has_the_size_its_description_tells() -> None:
    size = count(ScratchEncoderForSequenceClassification, presets.tutorial())
    assert size == 12_000 * 64 + 2 * block_size(64, 256) + 2 * (64 + 1)
    assert f"{size // 1000} k parameters" in presets.tutorial.__doc__


@every_preset
def test_overrides_win(preset: Preset) -> None:
    config = preset(hidden_size=24, num_attention_heads=3, hidden_act="silu", num_labels=5, attn_implementation="eager")
    assert (config.hidden_size, config.head_dim, config.hidden_act) == (24, 8, "silu")
    assert config.num_labels == len(config.id2label) == 5
    assert config._attn_implementation == "eager"


@every_preset
def test_an_unknown_override_is_refused_with_the_closest_name(preset: Preset) -> None:
    """A config class would keep it in silence, and train something else."""
    with pytest.raises(ValueError, match="no field 'hiden_size', did you mean 'hidden_size'") as caught:
        preset(hiden_size=24)
    assert "num_hidden_layers" in str(caught.value)
    with pytest.raises(ValueError, match=r"no field 'qqq'.*The fields are"):
        preset(qqq=1)


@every_preset
def test_each_call_makes_a_config_of_its_own(preset: Preset) -> None:
    first, second = preset(), preset()
    first.id2label[0] = "changed"
    assert second.id2label[0] == "LABEL_0"


def test_all_presets_are_listed() -> None:
    public = {
        name
        for name, value in vars(presets).items()
        if callable(value) and getattr(value, "__module__", "") == presets.__name__ and not name.startswith("_")
    }
    assert public == set(presets.ENCODERS)


BERT_NAMES = {
    "embeddings.word_embeddings": "embeddings.tokens",
    "embeddings.position_embeddings": "embeddings.positions",
    "embeddings.token_type_embeddings": "embeddings.token_types",
    "embeddings.LayerNorm": "embeddings.norm",
    "encoder.layer.": "stack.layers.",
    "attention.self.query": "attention.q_proj",
    "attention.self.key": "attention.k_proj",
    "attention.self.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
    "attention.output.LayerNorm": "attention_residual.norm",
    "intermediate.dense": "feed_forward.up_proj",
    "output.dense": "feed_forward.down_proj",
    "output.LayerNorm": "feed_forward_residual.norm",
}


def from_bert(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    renamed = {}
    for name, weight in weights.items():
        for theirs, ours in BERT_NAMES.items():
            name = name.replace(theirs, ours)
        renamed[name] = weight
    return renamed


@pytest.mark.parametrize("with_types", [True, False], ids=["types", "no_types"])
@pytest.mark.parametrize("side", ["right", "left", "none"])
def test_bert_computes_what_bert_computes(side: str, with_types: bool) -> None:
    sizes = {
        "vocab_size": 50, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 40,
        "max_position_embeddings": 16,
    }  # fmt: skip
    reference = redraw(BertModel(BertConfig(**sizes), add_pooling_layer=False)).eval()
    model = ScratchEncoderModel(presets.bert(**sizes)).eval()
    model.load_state_dict(from_bert(reference.state_dict()))

    ids = torch.randint(1, 50, (3, 16), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(16) < torch.tensor([16, 9, 4])[:, None] if side != "none" else torch.ones(3, 16, dtype=bool)
    mask = mask.flip(1) if side == "left" else mask
    types = {"token_type_ids": (torch.arange(16) > 6).long().expand(3, 16)} if with_types else {}
    places = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}  # BERT itself would count padding on the left
    expected = reference(ids, mask.long(), **types, **places).last_hidden_state
    torch.testing.assert_close(
        model(ids, mask.long(), **types).last_hidden_state[mask], expected[mask], atol=1e-5, rtol=0
    )
