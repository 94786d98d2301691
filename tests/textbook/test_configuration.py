# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A config refuses what no model can be, warns of misnamed fields, comes back from JSON; presets are the papers'."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from model_cases import TINY, library_messages, tiny
from transformers import AutoConfig, BertConfig, PreTrainedConfig

from modeling_scratch import (
    ScratchConfig,
    ScratchDecoderConfig,
    ScratchEncoderConfig,
    ScratchEncoderModel,
    ScratchSeq2SeqConfig,
    convert_config,
    presets,
)
from modeling_scratch.bridges.configs import FAMILIES
from modeling_scratch.utils.field_names import likely_field

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def described(config: ScratchConfig) -> dict[str, Any]:
    """All that a config says, but where it was loaded from."""
    return {name: value for name, value in config.to_dict().items() if name != "_name_or_path"}


def rotary(**rope: Any) -> dict[str, Any]:
    return {"position_type": "rotary", "rope_parameters": rope}


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"hidden_act": "tanh"}, ["hidden_act", "tanh", "'relu'", "'gelu_tanh'", "'swiglu'"]),
    ({"norm_type": "batch_norm"}, ["norm_type", "batch_norm", "'layer_norm'", "'rms_norm'"]),
    ({"norm_position": "both"}, ["norm_position", "both", "'pre'", "'post'"]),
    ({"position_type": "kerple"}, ["position_type", "kerple", "'none'", "'sinusoidal_halves'", "'rotary'"]),
    ({"classifier_pooling": "cls"}, ["classifier_pooling", "cls", "'first'", "'mean'", "'max'"]),
    ({"classifier_activation": "silu"}, ["classifier_activation", "silu", "'tanh'", "'relu'", "'gelu'"]),
    ({"problem_type": "ranking"}, ["problem_type", "ranking", "single_label_classification"]),
    ({"hidden_size": "16"}, ["hidden_size", "'16'", "int"]),
    ({"hidden_size": 16.0}, ["hidden_size", "16.0", "int"]),
    ({"norm_eps": "1e-5"}, ["norm_eps", "'1e-5'", "float"]),
    ({"embedding_norm": 1}, ["embedding_norm", "1", "bool"]),
    *(({name: 0}, [f"{name}=0", "at least 1"]) for name in (
        "vocab_size", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim",
        "intermediate_size", "max_position_embeddings", "embedding_size", "sliding_window",
    )),
    *(({name: -1}, [f"{name}=-1", "at least 0"]) for name in (
        "num_hidden_layers", "type_vocab_size", "position_offset", "norm_eps", "initializer_range",
    )),
    ({"num_key_value_heads": 3}, ["num_key_value_heads=3", "num_attention_heads=4"]),
    ({"num_key_value_heads": 8}, ["num_key_value_heads=8", "num_attention_heads=4"]),
    ({"embedding_size": 6, "output_embedding_size": 16}, ["output_embedding_size=16", "embedding_size=6", "tie_word"]),
    ({"hidden_size": 18}, ["hidden_size=18", "num_attention_heads=4", "head_dim"]),
    ({"position_type": "sinusoidal", "embedding_size": 7}, ["embedding_size=7", "odd"]),
    ({"position_type": "sinusoidal_halves", "embedding_size": 7}, ["embedding_size=7", "odd"]),
    ({"pad_token_id": 64}, ["pad_token_id=64", "vocab_size=64"]),
    ({"pad_token_id": -1}, ["pad_token_id=-1", "vocab_size=64"]),
    ({"position_type": "rotary", "head_dim": 3}, ["head_dim=3", "odd"]),
    ({"block_type": "appended"}, ["block_type", "appended", "'sequential'", "'parallel'"]),
    ({"layer_types": ["sliding_attention", "full_attention"]}, ["layer_types has sliding", "set sliding_window"]),
    ({"layer_types": ["chunked_attention"] * 2}, ["layer_types", "chunked_attention", "'sliding_attention'"]),
    ({"layer_types": ["full_attention"]}, ["layer_types", "num_hidden_layers"]),
    ({"local_rope_theta": 0}, ["local_rope_theta=0"]),
    ({"relative_attention_num_buckets": 6}, ["relative_attention_num_buckets=6", "multiple of 4"]),
    ({"relative_attention_max_distance": 16}, ["relative_attention_max_distance=16", "16"]),
    (rotary(rope_type="longrope", factor=2.0), ["rope_type", "'longrope'", "dynamic, llama3, yarn"]),
    (rotary(rope_type="default", partial_rotary_factor=0.25), ["partial_rotary_factor", "0.25", "pairs"]),
    (rotary(rope_type="linear"), ["rope_parameters", "linear", "factor"]),
    (rotary(rope_type="llama3", factor=8.0), ["rope_parameters", "llama3", "low_freq_factor", "high_freq_factor"]),
]  # fmt: skip


def test_what_no_model_can_be_is_refused_with_the_field_the_value_and_the_choices() -> None:
    for settings, pieces in REFUSED:
        with pytest.raises((StrictDataclassError, ValueError, KeyError)) as caught:
            tiny(**settings)
        assert [piece for piece in pieces if piece not in str(caught.value)] == [], settings


def test_what_encoder_decoders_lack_is_refused() -> None:
    with pytest.raises(StrictDataclassError, match="block_type='parallel': not in encoder-decoders"):
        ScratchSeq2SeqConfig(**TINY, block_type="parallel")
    windows = {"sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"]}
    with pytest.raises(StrictDataclassError, match="decoder_layers=1 differs from num_hidden_layers=2"):
        ScratchSeq2SeqConfig(**TINY, **windows, decoder_layers=1)


SENSIBLE: list[dict[str, Any]] = [
    {"hidden_dropout": 0, "attention_dropout": 0, "activation_dropout": 0, "classifier_dropout": 0},
    {"norm_eps": 1, "initializer_range": 1}, {"num_hidden_layers": 0}, {"pad_token_id": None}, {"eos_token_id": [2, 3]},
    {"position_type": "learned", "embedding_size": 7}, rotary(rope_type="linear", factor=2),
]  # fmt: skip


def test_a_sensible_value_is_kept_as_it_is() -> None:
    for settings in SENSIBLE:
        config = tiny(**settings)
        assert {name: getattr(config, name) for name in settings} == settings
        assert ScratchEncoderModel(config)(torch.tensor([[1, 2, 3]])).last_hidden_state.isfinite().all()


def test_what_is_left_out_is_derived() -> None:
    """Rotary positions alone have parameters; names of labels count them."""
    config = ScratchSeq2SeqConfig(hidden_size=24, num_attention_heads=6, num_hidden_layers=3)
    assert (config.head_dim, config.num_key_value_heads, config.embedding_size) == (4, 6, 24)
    assert (config.decoder_layers, config.decoder_vocab_size) == (3, config.vocab_size)

    assert tiny(position_type="rotary").rope_parameters == {"rope_theta": 10_000.0, "rope_type": "default"}
    assert tiny(position_type="rotary", rope_theta=5e5).rope_parameters["rope_theta"] == 5e5
    assert tiny(position_type="sinusoidal", rope_parameters={"rope_theta": 5e5}).rope_parameters is None
    llama3 = tiny(**rotary(**LLAMA3), max_position_embeddings=64)
    assert llama3.rope_parameters["original_max_position_embeddings"] == 64

    numbered = tiny(num_labels=3)
    assert numbered.label2id == {name: number for number, name in numbered.id2label.items()}
    settings = {name: value for name, value in TINY.items() if name != "num_labels"}
    named = ScratchEncoderConfig(**settings, id2label={"0": "bad", "1": "fair", "2": "good"})
    assert (named.num_labels, named.id2label[2]) == (3, "good")
    assert named.label2id == {"bad": 0, "fair": 1, "good": 2}
    assert ScratchEncoderConfig(**settings, label2id={"bad": 0, "good": 1}).id2label == {0: "bad", 1: "good"}


TWO_VOCABULARIES = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 40, "decoder_start_token_id": 3}
SAVED: list[tuple[type[ScratchConfig], dict[str, Any]]] = [
    (ScratchEncoderConfig, {}),
    (ScratchEncoderConfig, rotary(**LLAMA3, original_max_position_embeddings=16)),
    (ScratchEncoderConfig, {"num_key_value_heads": 2, "embedding_size": 8, "hidden_dropout": 0, "pad_token_id": None}),
    (ScratchEncoderConfig, {"eos_token_id": [2, 3], "bos_token_id": 1, "problem_type": "regression", "num_labels": 1}),
    (ScratchEncoderConfig, {"num_labels": 2, "id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}),
    (ScratchDecoderConfig, {"use_cache": False, "lm_head_bias": True, "eos_token_id": [2, 3], "pad_token_id": None}),
    (ScratchSeq2SeqConfig, {"decoder_layers": 5, "tie_word_embeddings": False, **TWO_VOCABULARIES}),
]


@pytest.mark.parametrize(("config_class", "settings"), SAVED)
def test_json_brings_back_an_equal_config(config_class: Any, settings: dict, tmp_path: Path) -> None:
    config = config_class(**{**TINY, **settings})
    config.save_pretrained(tmp_path)
    for loaded in (
        AutoConfig.from_pretrained(tmp_path),
        config_class.from_dict(config.to_dict()),
        config_class.from_dict(json.loads(config.to_json_string(use_diff=False))),
    ):
        assert type(loaded) is config_class
        assert described(loaded) == described(config)


def test_the_size_of_a_retired_table_is_dropped_if_0_and_refused_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**tiny().to_dict(), "ngram_vocab_size": 0}))
    AutoConfig.from_pretrained(tmp_path).save_pretrained(tmp_path)
    assert "ngram_vocab_size" not in json.loads(path.read_text())
    path.write_text(json.dumps({**tiny().to_dict(), "ngram_vocab_size": 5}))
    with pytest.raises(ValueError, match=r"\Angram_vocab_size=5: .+\Z"):  # one line: . is no line break
        AutoConfig.from_pretrained(tmp_path)


# Misnamed fields

# A field of another model or a misspelling, and ours.
MISNAMED = {
    "hidden_dropout_prob": "hidden_dropout", "attn_pdrop": "attention_dropout", "d_model": "hidden_size",
    "rms_norm_eps": "norm_eps", "encoder_layers": "num_hidden_layers", "hidden_droput": "hidden_dropout",
    "norm_positions": "norm_position", "eos_token_ids": "eos_token_id",
}  # fmt: skip
# What configs carry by right: fields of Transformers, of its tasks and of its tools.
CARRIED = {
    "sep_token_id": 3, "mask_token_id": 4, "task_specific_params": {"translation": {"prefix": "translate: "}},
    "attn_implementation": "eager", "torch_dtype": "float32", "name_or_path": "folder", "num_beams": 4,
    "max_length": 20, "tokenizer_class": "PreTrainedTokenizerFast", "num_labels": 3, "use_cache": True,
    "output_attentions": False, "native_model_type": "bert", "transformers_version": "5.0.0",
}  # fmt: skip


def warnings_of(config_class: type[PreTrainedConfig], **settings: Any) -> list[str]:
    with library_messages() as messages:
        config_class(**settings)
    return messages


@pytest.mark.parametrize("config_class", [ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig])
def test_a_misnamed_field_is_answered_with_the_likely_name(config_class: Any) -> None:
    """What configs carry by right is not warned of, nor what configs of others carry."""
    for name, field in MISNAMED.items():
        (message,) = warnings_of(config_class, **{name: 1})
        assert re.search(f"{config_class.__name__} .*{name!r}.*did you mean {field!r}", message)
    assert warnings_of(config_class, **CARRIED) == []
    assert warnings_of(config_class, rope_theta=500.0, position_type="rotary") == []
    assert warnings_of(ScratchDecoderConfig, decoder_layers=2) == []  # another name of the same size
    assert warnings_of(BertConfig, hidden_droput=0.5, d_model=16) == []


def test_every_field_of_a_convertible_family_is_known() -> None:
    for family in FAMILIES.values():
        for theirs, ours in family.fields.items():
            for name in [theirs] if isinstance(theirs, str) else theirs:
                assert likely_field(name, family.config) == ours


# Presets: the settings of the literature

Preset = Callable[..., ScratchConfig]
PRESETS = {
    f"{kind}-{name}": preset
    for kind, table in (("encoder", presets.ENCODERS), ("decoder", presets.DECODERS), ("seq2seq", presets.SEQ2SEQS))
    for name, preset in table.items()
}


def test_vaswani_has_the_size_of_table_3() -> None:
    config, width, inner = presets.vaswani(), 512, 2048
    assert (config.num_hidden_layers, config.num_attention_heads, config.hidden_dropout) == (6, 8, 0.1)
    with torch.device("meta"):  # without allocating what is counted
        found = sum(parameter.numel() for parameter in ScratchEncoderModel(config).parameters())
    attention, feed_forward = 4 * (width * width + width), (width * inner + inner) + (inner * width + width)
    assert found == 32_000 * width + 6 * (attention + feed_forward + 2 * (width + width))  # two norms


def test_the_positions_of_roberta_start_behind_its_pad_token() -> None:
    """So that its model has a native class with whatever tokenizer it is trained."""
    offsets = [presets.roberta(**ids).position_offset for ids in ({}, {"pad_token_id": 0}, {"pad_token_id": None})]
    assert offsets == [2, 1, 2]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
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


SEQ2SEQ: Callable[..., dict[str, Any]] = lambda **sizes: {  # noqa: E731
    "num_labels": 2, **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()},
}  # fmt: skip
NATIVE = {
    "bert": transformers.BertConfig(),
    "roberta": transformers.RobertaConfig(
        vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5
    ),
    "distilbert": transformers.DistilBertConfig(),
    "gpt2": transformers.GPT2Config(),
    "llama": transformers.LlamaConfig(),
    "bart": transformers.BartConfig(d_model=768, **SEQ2SEQ(layers=6, ffn_dim=3072, attention_heads=12)),
    "marian": transformers.MarianConfig(
        d_model=512, scale_embedding=True, activation_function="swish", max_position_embeddings=512,
        **SEQ2SEQ(layers=6, ffn_dim=2048, attention_heads=8),
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
