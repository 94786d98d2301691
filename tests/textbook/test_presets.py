# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The settings of the literature are those of the literature: counted by hand, and as the library has them."""

from collections.abc import Callable

import pytest
import torch
import transformers

from modeling_scratch import ScratchConfig, ScratchEncoderModel, convert_config, presets

Preset = Callable[..., ScratchConfig]
TABLES = {"encoder": presets.ENCODERS, "decoder": presets.DECODERS, "seq2seq": presets.SEQ2SEQS}
every_preset = pytest.mark.parametrize(
    "preset",
    [pytest.param(preset, id=f"{kind}-{name}") for kind, table in TABLES.items() for name, preset in table.items()],
)


def test_vaswani_has_the_size_of_table_3() -> None:
    config, width, inner = presets.vaswani(), 512, 2048
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_dropout) == (6, 8, 0.1)
    with torch.device("meta"):  # without allocating what is counted
        found = sum(parameter.numel() for parameter in ScratchEncoderModel(config).parameters())
    attention, feed_forward = 4 * (width * width + width), (width * inner + inner) + (inner * width + width)
    assert found == 32_000 * width + 6 * (attention + feed_forward + 2 * (width + width))  # two norms


def bart_sizes(width: int, layers: int, inner: int, heads: int) -> dict[str, int]:
    names = {"layers": layers, "ffn_dim": inner, "attention_heads": heads}
    both = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in names.items()}
    return {"d_model": width, **both}


def test_the_positions_of_roberta_start_behind_its_pad_token() -> None:
    """So that its model has a native class with whatever tokenizer it is trained."""
    offsets = [presets.roberta(**ids).position_offset for ids in ({}, {"pad_token_id": 0}, {"pad_token_id": None})]
    assert offsets == [2, 1, 2]


@every_preset
def test_overrides_win_and_unknown_ones_are_refused_with_the_closest_name(preset: Preset) -> None:
    """A config class would keep them in silence, and train something else."""
    config = preset(hidden_size=24, num_attention_heads=3, hidden_act="silu", num_labels=5, attn_implementation="eager")
    assert (config.hidden_size, config.head_dim, config.hidden_act) == (24, 8, "silu")
    assert config.num_labels == len(config.id2label) == 5
    assert config._attn_implementation == "eager"
    with pytest.raises(ValueError, match="no field 'hiden_size', did you mean 'hidden_size'"):
        preset(hiden_size=24)
    with pytest.raises(ValueError, match="rope_parameters has no effect with position_type='learned'"):
        preset(position_type="learned", rope_parameters={"rope_theta": 100.0})


NATIVE = {
    "bert": transformers.BertConfig(),
    "roberta": transformers.RobertaConfig(
        vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5
    ),
    "distilbert": transformers.DistilBertConfig(),
    "gpt2": transformers.GPT2Config(),
    "llama": transformers.LlamaConfig(),
    "bart": transformers.BartConfig(num_labels=2, **bart_sizes(768, 6, 3072, 12)),
    "marian": transformers.MarianConfig(
        num_labels=2, scale_embedding=True, activation_function="swish", max_position_embeddings=512,
        **bart_sizes(512, 6, 2048, 8),
    ),
}  # fmt: skip
# The logits of BART have no bias here, and padding shifts no positions; the others are no switches.
BESIDES = "native_model_type", "architectures", "lm_head_bias", "counted_tokens", "forced_eos_token_id", "dtype"


@pytest.mark.parametrize("name", NATIVE)
def test_a_preset_is_what_the_native_config_of_that_name_converts_to(name: str) -> None:
    """Which computes what the native class computes: see test_conversion.py."""
    ours, converted = getattr(presets, name)().to_dict(), convert_config(NATIVE[name]).to_dict()
    for field in BESIDES:
        ours.pop(field, None), converted.pop(field, None)
    assert converted == ours
