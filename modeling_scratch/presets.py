# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Settings of the literature, and small ones of our own, as functions that return a config.

Each takes keyword overrides: presets.bert(hidden_size=384, num_hidden_layers=4). They say only what differs from the
defaults.
"""

from dataclasses import fields
from difflib import get_close_matches
from typing import Any, TypeVar

from .configuration_scratch import ScratchConfig, ScratchEncoderConfig

Config = TypeVar("Config", bound=ScratchConfig)


def vaswani(**overrides: Any) -> ScratchEncoderConfig:
    """The encoder of the base model (Vaswani et al. 2017, table 3)."""
    return _preset(ScratchEncoderConfig, overrides, embedding_scale=True)


def bert(**overrides: Any) -> ScratchEncoderConfig:
    """BERT base (Devlin et al. 2019)."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=30_522, hidden_size=768, num_hidden_layers=12,
        num_attention_heads=12, intermediate_size=3072, hidden_act="gelu", norm_eps=1e-12, position_type="learned",
        embedding_norm=True, type_vocab_size=2, attention_dropout=0.1, classifier_activation="tanh",
    )  # fmt: skip


def tutorial(**overrides: Any) -> ScratchEncoderConfig:
    """The encoder that tutorials train on SST-2: 4 heads of 16, 868 k parameters with a vocabulary of 12 k."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=12_000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, hidden_act="gelu",
    )  # fmt: skip


def reviews(**overrides: Any) -> ScratchEncoderConfig:
    """Our own for the sentiment of short texts: a word weighs first, its place later; mean pooling, strong dropout."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=16_000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, hidden_dropout=0.3, classifier_pooling="mean",
    )  # fmt: skip


def demo(**overrides: Any) -> ScratchEncoderConfig:
    """Our own for texts whose structure decides: places as loud as words, by rotary positions that turn fast."""
    return _preset(
        ScratchEncoderConfig, overrides, vocab_size=1_000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, hidden_act="gelu", position_type="rotary", rope_parameters={"rope_theta": 100.0},
        embedding_norm=True, initializer_range=0.12, classifier_pooling="mean",
    )  # fmt: skip


ENCODERS = {preset.__name__: preset for preset in (vaswani, bert, tutorial, reviews, demo)}


def _preset(config_class: type[Config], overrides: dict[str, Any], **settings: Any) -> Config:
    """Overrides win over settings; an unknown name is an error, a config class would keep it in silence."""
    known = {field.name for field in fields(config_class)} | {"num_labels", "attn_implementation"}
    for name in overrides.keys() - known:
        hint = get_close_matches(name, known, n=1)
        raise ValueError(
            f"{config_class.__name__} has no field {name!r}" + (f", did you mean {hint[0]!r}?" if hint else ".")
            + f" The fields are: {', '.join(sorted(known))}."
        )  # fmt: skip
    return config_class(**{**settings, **overrides})
