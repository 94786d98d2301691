# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A config refuses what no model can be, derives what was left out, and comes back from JSON as it went."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from model_cases import TINY
from transformers import AutoConfig

from modeling_scratch import (
    ScratchConfig,
    ScratchDecoderConfig,
    ScratchEncoderConfig,
    ScratchEncoderModel,
    ScratchSeq2SeqConfig,
)

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def tiny(**settings: Any) -> ScratchEncoderConfig:
    return ScratchEncoderConfig(**{**TINY, **settings})


def described(config: ScratchConfig) -> dict[str, Any]:
    """All that a config says, but where it was loaded from."""
    return {name: value for name, value in config.to_dict().items() if name != "_name_or_path"}


def rotary(**rope: Any) -> dict[str, Any]:
    return {"position_type": "rotary", "rope_parameters": rope}


def setting_names(settings: dict[str, Any]) -> str:
    shown = {**settings, **settings.get("rope_parameters", {})}
    return "-".join(f"{name}={value}" for name, value in shown.items() if name != "rope_parameters") or "defaults"


def each(rows: list[tuple[dict[str, Any], list[str]]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("settings", "pieces"), rows, ids=[setting_names(settings) for settings, _ in rows])


@each(
    [
        ({"hidden_act": "tanh"}, ["hidden_act", "tanh", "'relu'", "'gelu_tanh'", "'swiglu'"]),
        ({"norm_type": "batch_norm"}, ["norm_type", "batch_norm", "'layer_norm'", "'rms_norm'"]),
        ({"norm_position": "both"}, ["norm_position", "both", "'pre'", "'post'"]),
        ({"position_type": "alibi"}, ["position_type", "alibi", "'none'", "'sinusoidal_halves'", "'rotary'"]),
        ({"classifier_pooling": "cls"}, ["classifier_pooling", "cls", "'first'", "'mean'", "'max'"]),
        ({"classifier_activation": "silu"}, ["classifier_activation", "silu", "'tanh'", "'relu'", "'gelu'"]),
        ({"problem_type": "ranking"}, ["problem_type", "ranking", "single_label_classification"]),
        ({"hidden_size": "16"}, ["hidden_size", "'16'", "int"]),
        ({"hidden_size": 16.0}, ["hidden_size", "16.0", "int"]),
        ({"norm_eps": "1e-5"}, ["norm_eps", "'1e-5'", "float"]),
        ({"embedding_norm": 1}, ["embedding_norm", "1", "bool"]),
    ]
)
def test_a_value_of_the_wrong_kind_is_refused_with_the_choices(settings: dict, pieces: list) -> None:
    with pytest.raises(StrictDataclassError) as caught:
        tiny(**settings)
    assert [piece for piece in pieces if piece not in str(caught.value)] == []


@each(
    [
        *(({name: size}, [f"{name}={size}", "at least 1"]) for size in (0, -8) for name in (
            "vocab_size", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim",
            "intermediate_size", "max_position_embeddings", "embedding_size",
        )),
        *(({name: -1}, [f"{name}=-1", "at least 0"]) for name in (
            "num_hidden_layers", "type_vocab_size", "position_offset", "norm_eps", "initializer_range",
        )),
        *(({name: value}, [f"{name}={value}", "[0, 1)"]) for value in (-0.1, 1, 1.5, float("nan")) for name in (
            "hidden_dropout", "attention_dropout", "activation_dropout", "classifier_dropout",
        )),
        ({"num_key_value_heads": 3}, ["num_key_value_heads=3", "num_attention_heads=4"]),
        ({"num_key_value_heads": 8}, ["num_key_value_heads=8", "num_attention_heads=4"]),
        ({"hidden_size": 18}, ["hidden_size=18", "num_attention_heads=4", "head_dim"]),
        ({"hidden_size": 2}, ["hidden_size=2", "num_attention_heads=4", "head_dim"]),
        ({"position_type": "sinusoidal", "embedding_size": 7}, ["embedding_size=7", "odd"]),
        ({"position_type": "sinusoidal_halves", "embedding_size": 7}, ["embedding_size=7", "odd"]),
        ({"pad_token_id": 64}, ["pad_token_id=64", "vocab_size=64"]),
        ({"pad_token_id": -1}, ["pad_token_id=-1", "vocab_size=64"]),
        ({"position_type": "rotary", "head_dim": 3}, ["head_dim=3", "odd"]),
        ({"position_type": "rotary", "head_dim": 5}, ["head_dim=5", "odd"]),
        (rotary(rope_type="longrope", factor=2.0), ["rope_type", "'longrope'", "dynamic, llama3, yarn"]),
        (rotary(rope_type="none"), ["rope_type", "'none'", "default, linear, dynamic, llama3"]),
        (rotary(rope_type="default", partial_rotary_factor=0.25), ["partial_rotary_factor", "0.25", "pairs"]),
        (rotary(rope_type="linear"), ["rope_parameters", "linear", "factor"]),
        (rotary(rope_type="dynamic"), ["rope_parameters", "dynamic", "factor"]),
        (rotary(rope_type="llama3", factor=8.0), ["rope_parameters", "llama3", "low_freq_factor", "high_freq_factor"]),
    ]
)  # fmt: skip
def test_an_impossible_value_is_refused_by_name(settings: dict, pieces: list) -> None:
    with pytest.raises((StrictDataclassError, ValueError, KeyError)) as caught:
        tiny(**settings)
    assert [piece for piece in pieces if piece not in str(caught.value)] == []


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_dropout": 0, "attention_dropout": 0, "activation_dropout": 0, "classifier_dropout": 0},
        {"norm_eps": 1, "initializer_range": 1},
        {"num_hidden_layers": 0},
        {"pad_token_id": None},
        {"eos_token_id": [2, 3]},
        {"position_type": "learned", "embedding_size": 7},
        rotary(rope_type="linear", factor=2),
    ],
    ids=setting_names,
)
def test_a_sensible_value_is_kept_as_it_is(settings: dict) -> None:
    config = tiny(**settings)
    assert {name: getattr(config, name) for name in settings} == settings
    assert ScratchEncoderModel(config)(torch.tensor([[1, 2, 3]])).last_hidden_state.isfinite().all()


def test_a_later_assignment_is_checked_for_its_kind() -> None:
    config = tiny()
    with pytest.raises(StrictDataclassError, match="hidden_act"):
        config.hidden_act = "softplus"
    assert config.hidden_act == "relu"


def test_sizes_left_out_are_derived() -> None:
    config = ScratchEncoderConfig(hidden_size=24, num_attention_heads=6)
    assert (config.head_dim, config.num_key_value_heads, config.embedding_size) == (4, 6, 24)
    given = ScratchEncoderConfig(hidden_size=24, num_attention_heads=6, num_key_value_heads=2, embedding_size=8)
    assert (given.head_dim, given.num_key_value_heads, given.embedding_size) == (4, 2, 8)


def test_heads_of_their_own_size_need_not_divide_the_width() -> None:
    config = tiny(hidden_size=18, head_dim=6)
    model = ScratchEncoderModel(config)
    assert model.stack.layers[0].attention.q_proj.weight.shape == (4 * 6, 18)
    assert model(torch.tensor([[1, 2, 3]])).last_hidden_state.shape == (1, 3, 18)


def test_rope_parameters_are_there_for_rotary_positions_alone() -> None:
    assert tiny(position_type="rotary").rope_parameters == {"rope_theta": 10_000.0, "rope_type": "default"}
    assert tiny(position_type="rotary", rope_theta=5e5).rope_parameters["rope_theta"] == 5e5
    assert tiny(position_type="sinusoidal", rope_parameters={"rope_theta": 5e5}).rope_parameters is None
    llama3 = tiny(**rotary(**LLAMA3), max_position_embeddings=64)
    assert llama3.rope_parameters["original_max_position_embeddings"] == 64


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"position_type": "rotary"},
        rotary(rope_type="linear", rope_theta=5e5, factor=2.0),
        rotary(rope_type="dynamic", factor=4.0),
        rotary(**LLAMA3, original_max_position_embeddings=16),
        {"num_key_value_heads": 2, "head_dim": 6, "embedding_size": 8, "hidden_dropout": 0, "pad_token_id": None},
        {"classifier_pooling": "max", "classifier_activation": "gelu", "classifier_dropout": 0.2},
        {"eos_token_id": [2, 3], "bos_token_id": 1, "problem_type": "regression", "num_labels": 1},
        {"num_labels": 2, "id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}},
    ],
    ids=setting_names,
)
def test_json_brings_back_an_equal_config(tmp_path: Path, settings: dict) -> None:
    config = tiny(**settings)
    config.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "scratch_encoder"
    for loaded in (
        ScratchEncoderConfig.from_pretrained(tmp_path),
        AutoConfig.from_pretrained(tmp_path),
        ScratchEncoderConfig.from_dict(config.to_dict()),
        ScratchEncoderConfig.from_dict(json.loads(config.to_json_string(use_diff=False))),
    ):
        assert type(loaded) is ScratchEncoderConfig
        assert described(loaded) == described(config)
        assert loaded.num_labels == config.num_labels


def test_every_field_is_saved_under_its_name(tmp_path: Path) -> None:
    """Defaults too: a later version with other defaults still reads what was meant."""
    tiny().save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    unsaved = {"keys_to_ignore_at_inference", "auto_classes", "problem_type"}
    assert set(ScratchConfig.__annotations__) - unsaved <= saved.keys()


def test_names_of_labels_count_them() -> None:
    numbered = tiny(num_labels=3)
    assert numbered.label2id == {name: number for number, name in numbered.id2label.items()}
    settings = {name: value for name, value in TINY.items() if name != "num_labels"}
    named = ScratchEncoderConfig(**settings, id2label={"0": "bad", "1": "fair", "2": "good", "3": "superb"})
    assert named.num_labels == 4
    assert named.label2id == {"bad": 0, "fair": 1, "good": 2, "superb": 3}
    assert ScratchEncoderConfig(**settings, label2id={"bad": 0, "good": 1}).id2label == {0: "bad", 1: "good"}
    assert named.id2label[3] == "superb"


TWO_VOCABULARIES = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 40, "decoder_start_token_id": 3}


@pytest.mark.parametrize(
    ("config_class", "settings"),
    [
        (ScratchDecoderConfig, {}),
        (
            ScratchDecoderConfig,
            {"use_cache": False, "lm_head_bias": True, "eos_token_id": [2, 3], "pad_token_id": None},
        ),
        (ScratchSeq2SeqConfig, {}),
        (ScratchSeq2SeqConfig, {"decoder_layers": 5, "tie_word_embeddings": False, **TWO_VOCABULARIES}),
    ],
)
def test_json_brings_back_decoders_and_encoder_decoders(config_class: type, settings: dict, tmp_path: Path) -> None:
    config = config_class(**{**TINY, **settings})
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is config_class
    assert described(loaded) == described(config)
    assert {name: getattr(loaded, name) for name in settings} == settings


def test_a_decoder_has_its_sizes_under_the_names_of_both_families() -> None:
    """The library reads from them how many layers a cache has."""
    alone = ScratchDecoderConfig(**TINY)
    assert (alone.decoder_layers, alone.decoder_vocab_size) == (TINY["num_hidden_layers"], TINY["vocab_size"])
    pair = ScratchSeq2SeqConfig(**TINY)
    assert (pair.decoder_layers, pair.decoder_vocab_size) == (TINY["num_hidden_layers"], TINY["vocab_size"])
    deeper = ScratchSeq2SeqConfig(**TINY, decoder_layers=5)
    assert deeper.get_text_config(decoder=True).num_hidden_layers == 5
    assert deeper.num_hidden_layers == TINY["num_hidden_layers"]
