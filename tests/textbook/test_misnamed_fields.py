# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Config fields that look misnamed: a warning with the likely name in a config, an error in a preset."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from model_cases import library_messages
from transformers import AutoConfig, BertConfig

import modeling_scratch
from modeling_scratch import ScratchConfig, ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig, presets
from modeling_scratch.bridges.configs import FAMILIES
from modeling_scratch.utils.field_names import likely_field

CONFIG_CLASSES = (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig)
every_class = pytest.mark.parametrize("config_class", CONFIG_CLASSES)

# A field of another model or a misspelling, and ours.
MISNAMED = {
    "hidden_dropout_prob": "hidden_dropout",
    "attn_pdrop": "attention_dropout",
    "d_model": "hidden_size",
    "rms_norm_eps": "norm_eps",
    "encoder_layers": "num_hidden_layers",
    "hidden_droput": "hidden_dropout",
    "norm_positions": "norm_position",
    "eos_token_ids": "eos_token_id",
}
# What configs carry by right: fields of Transformers, of its tasks and of its tools.
CARRIED = {
    "sep_token_id": 3, "mask_token_id": 4, "task_specific_params": {"translation": {"prefix": "translate: "}},
    "attn_implementation": "eager", "torch_dtype": "float32", "name_or_path": "folder", "num_beams": 4,
    "max_length": 20, "tokenizer_class": "PreTrainedTokenizerFast", "num_labels": 3, "use_cache": True,
    "output_attentions": False, "native_model_type": "bert", "transformers_version": "5.0.0",
}  # fmt: skip


def warnings_of(config_class: type[ScratchConfig], **settings: Any) -> list[str]:
    with library_messages() as messages:
        config_class(**settings)
    return messages


@every_class
def test_a_misnamed_field_is_answered_with_the_likely_name(config_class: Any) -> None:
    """What configs carry by right is not warned of."""
    for name, field in MISNAMED.items():
        (message,) = warnings_of(config_class, **{name: 1})
        assert re.search(f"{config_class.__name__} .*{name!r}.*did you mean {field!r}", message)
    assert warnings_of(config_class, **CARRIED) == []
    assert warnings_of(config_class, rope_theta=500.0, position_type="rotary") == []
    assert warnings_of(ScratchDecoderConfig, decoder_layers=2) == []  # another name of the same size


def test_a_saved_config_is_loaded_and_copied_in_silence(tmp_path: Path) -> None:
    config = ScratchEncoderConfig(problem_type="regression", num_labels=1)
    config.custom_pipelines = {"reviews": {"impl": "reviews.Pipeline", "pt": []}}
    config.save_pretrained(tmp_path)
    with library_messages() as messages:
        loaded = AutoConfig.from_pretrained(tmp_path)
        assert copy.deepcopy(loaded).to_dict() == loaded.to_dict()
    assert messages == []
    assert loaded.custom_pipelines == config.custom_pipelines


def test_every_field_of_a_convertible_family_is_known() -> None:
    for family in FAMILIES.values():
        for theirs, ours in family.fields.items():
            for name in [theirs] if isinstance(theirs, str) else theirs:
                assert likely_field(name, getattr(modeling_scratch, family.config)) == ours


def test_a_preset_refuses_a_misnamed_field_with_the_likely_name() -> None:
    for name, field in {**MISNAMED, "hidden_dim_size": "hidden_size"}.items():
        with pytest.raises(ValueError, match=f"{name!r}.*did you mean {field!r}"):
            presets.bert(**{name: 1})


def test_configs_of_others_take_any_field_in_silence() -> None:
    with library_messages() as messages:
        BertConfig(hidden_droput=0.5, d_model=16)
    assert messages == []
