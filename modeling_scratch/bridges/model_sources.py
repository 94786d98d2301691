# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Where a model comes from: a preset with changes, or a checkpoint; what is wrong with either is said in one line."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

import modeling_scratch

from ..configuration_scratch import ScratchConfig
from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError
from .configs import FAMILIES

Config = TypeVar("Config", bound=ScratchConfig)

WITHOUT_WEIGHTS = ("dropout", "dropout_prob", "classifier_pooling")
DECIDED_ELSEWHERE = {"vocab_size", "decoder_vocab_size", "num_labels", "id2label", "label2id"}


def preset_config(
    table: Mapping[str, Callable[..., Config]], preset: str, overrides: str | None, **settings: Any
) -> Config:
    """The config of a preset of `table`; overrides, as --config_overrides writes them, win over settings."""
    if preset not in table:
        raise DataError(f"--preset {preset}: the choices are {', '.join(table)}")
    try:
        return table[preset](**{**settings, **_parse_overrides(overrides or "")})
    except (ValueError, StrictDataclassError) as error:
        raise DataError(f"--config_overrides {overrides}: {error}") from error


def checkpoint_overrides(overrides: str | None) -> dict[str, Any]:
    """What --config_overrides may change of a checkpoint: what no weights depend on."""
    changes = _parse_overrides(overrides or "")
    for name in changes:
        if not name.endswith(WITHOUT_WEIGHTS):
            raise DataError(
                f"--config_overrides {name}: of a checkpoint only what has no weights can change: "
                f"fields that end in {', '.join(WITHOUT_WEIGHTS)}"
            )
    return changes


def _parse_overrides(text: str) -> dict[str, Any]:
    """ "hidden_size=128,hidden_act=gelu" as a dictionary; values as in JSON, without commas."""
    overrides: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise DataError(f"--config_overrides: {part!r} is not of the form name=value")
        try:
            overrides[name] = json.loads(value)
        except json.JSONDecodeError:
            overrides[name] = value
        if name in DECIDED_ELSEWHERE or name.endswith("_token_id"):
            raise DataError(f"--config_overrides {name}: that is decided by the tokenizer and the data (--vocab_size)")
    return overrides


def check_folder(name: str, option: str = "") -> None:
    """Raises `DataError` where a name can only be that of a folder, and there is none: no typo waits for the Hub."""
    path = Path(name)
    is_path = len(path.parts) > 2 or name[:1] in "./~" or (len(path.parts) == 2 and path.parent.is_dir())
    if is_path and not path.is_dir():
        raise DataError(f"{option} {name}: there is no such folder".lstrip())


def load_checkpoint(auto_class: Any, name: str, trust_remote_code: bool, **options: Any) -> Any:
    """auto_class.from_pretrained(name), whose errors are the user's to mend."""
    check_folder(name)
    try:
        return auto_class.from_pretrained(name, trust_remote_code=trust_remote_code, **options)
    except Exception as error:  # of files that are damaged or mean harm: open-ended, tokenizers raise Exception itself
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{name} cannot be loaded as a checkpoint: {first_line[:300]}") from error


def load_model(auto_class: Any, head: str, name: str, trust_remote_code: bool, **options: Any) -> PreTrainedModel:
    """A checkpoint with a head, to train: a scratch model also of those that there is a bridge to.

    Its weights are in float32, however they are stored: in 16 bits small steps, and those of an average, are lost.
    auto_class, head: the class for all others, and how the names of the scratch classes with such a head end.
    """
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    options["dtype"] = torch.float32
    if config.model_type not in FAMILIES:
        return load_checkpoint(auto_class, name, trust_remote_code, **options)
    scratch_class = next((ours for ours in FAMILIES[config.model_type].heads if ours.endswith(head)), None)
    if scratch_class is None:
        raise DataError(f"--model_name_or_path {name}: of {config.model_type} there is no {head} here")
    try:
        return modeling_scratch.load_pretrained(name, getattr(modeling_scratch, scratch_class), **options).train()
    except (OSError, ValueError) as error:
        raise DataError(f"--model_name_or_path {name}: {error}") from error


Tokenizers = tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]


def load_tokenizers(name: str, trust_remote_code: bool = False) -> Tokenizers:
    """Those of a checkpoint; raises `DataError` where the decoder has a vocabulary of its own, and it is missing."""
    source = load_checkpoint(AutoTokenizer, name, trust_remote_code)
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    is_shared = getattr(config, "share_encoder_decoder_embeddings", True)
    if is_shared or getattr(source, "separate_vocabs", False):  # Marian's tokenizer holds both itself
        return source, source
    try:
        return source, load_checkpoint(AutoTokenizer, name, trust_remote_code, subfolder=TARGET_FOLDER)
    except DataError as error:
        raise DataError(
            f"{name}: its decoder has a vocabulary of its own, but there is no tokenizer in {TARGET_FOLDER}/; "
            "copy that folder from where the model was trained"
        ) from error
