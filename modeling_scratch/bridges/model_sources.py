# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Model sources: presets with overrides, and checkpoints, with one-line errors."""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.dynamic_module_utils import get_class_from_dynamic_module

import modeling_scratch

from ..configuration_scratch import ScratchConfig
from ..modeling_base import ScratchPreTrainedModel
from ..pipelines import TARGET_FOLDER
from ..run.layout import is_path
from ..utils.errors import DataError, first_few, hidden_messages, one_line
from ..utils.options import retired
from .configs import FAMILIES, why_not
from .conversion import savable
from .model_limits import NO_LIMIT, check_model_files
from .weights import freeze_zeros

Config = TypeVar("Config", bound=ScratchConfig)

# What the folder of a linear model has in place of config.json, and its weights.
LINEAR_MODEL, LINEAR_WEIGHTS = "linear.json", "weights.safetensors"
WITHOUT_WEIGHTS = ("dropout", "dropout_prob", "classifier_pooling")
PYTHON_NAMES = {"True": "true", "False": "false", "None": "null"}
DECIDED_ELSEWHERE = {"vocab_size", "decoder_vocab_size", "num_labels", "id2label", "label2id", "problem_type"}


def preset_config(
    table: Mapping[str, Callable[..., Config]], preset: str, overrides: str | None, **settings: Any
) -> Config:
    """Return the config of a preset. overrides, in the format of --config_overrides, take precedence over settings."""
    if preset not in table:
        raise DataError(f"--preset {preset}: the choices are {', '.join(table)}")
    changes = _parse_overrides(overrides or "")
    try:
        return table[preset](**{**settings, **changes})
    except (ValueError, KeyError, StrictDataclassError) as error:  # KeyError: of a kind of rotation that lacks a number
        raise DataError(f"--config_overrides {overrides}: {error.args[0] if error.args else error}") from error


def checkpoint_overrides(overrides: str | None) -> dict[str, Any]:
    """Parse the --config_overrides of a checkpoint, limited to fields that no weights depend on."""
    changes = _parse_overrides(overrides or "")
    for name in changes:
        if not name.endswith(WITHOUT_WEIGHTS):
            allowed = f"only fields without weights can change: those that end in {', '.join(WITHOUT_WEIGHTS)}"
            raise DataError(f"--config_overrides {name}: for a checkpoint, {allowed}")
    return changes


def parse_value(text: str) -> Any:
    """Return a value of JSON, or True, False or None as Python spells them; other text is a string."""
    try:
        return json.loads(PYTHON_NAMES.get(text, text))
    except json.JSONDecodeError:
        return text


def _parse_overrides(text: str) -> dict[str, Any]:
    """Parse "hidden_size=128,hidden_act=gelu" to a dictionary; values are those of `parse_value`."""
    overrides: dict[str, Any] = {}
    for part in override_parts(text):
        name, equals, value = part.partition("=")
        if not equals:
            raise DataError(f"--config_overrides: {part!r} does not have the form name=value")
        if line := retired(name):
            raise DataError(line)
        overrides[name] = parse_value(value)
        if name in DECIDED_ELSEWHERE or name.endswith("_token_id"):
            raise DataError(f"--config_overrides {name}: determined by the tokenizer and the data (--vocab_size)")
    return overrides


def override_parts(overrides: str | None) -> list[str]:
    """Split --config_overrides at its commas, except those in brackets of a list or a dictionary."""
    parts, depth = [""], 0
    for character in overrides or "":
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def with_override(overrides: str | None, name: str, value: Any) -> str:
    """Return --config_overrides with another value of a field."""
    others = (part for part in override_parts(overrides) if part.partition("=")[0].strip() != name)
    return ",".join([*others, f"{name}={json.dumps(value)}"])


def check_folder(name: str, option: str = "") -> None:
    """Raise `DataError` for a folder that `check_model_files` refuses, a linear model, or a path of no folder.

    A name that is clearly a path does not cause a request to the Hub.
    """
    path, where = Path(name), f"{option} {name}".lstrip()
    if path.is_file():
        raise DataError(f"{where}: a file; name the folder of a model")
    if is_path(name) and not path.is_dir():
        raise DataError(f"{where}: folder not found")
    if is_linear(path):
        what = "a linear model, which only `modeling-scratch predict` reads"
        raise DataError(f"{where}: {what}; name the folder of a Transformer, such as that of its run")
    has_files = any((path / file).exists() for file in ("config.json", "tokenizer.json"))
    if not has_files and (models := sorted(found.parent.name for found in path.glob("*/config.json"))):
        raise DataError(f"{where}: no model, but a folder of models: {first_few(models)}; name one of them")
    if path.is_dir():
        check_model_files(path)


def is_linear(folder: str | Path) -> bool:
    """Return whether a folder holds a linear model of n-grams, in place of a model of transformers."""
    return Path(folder, LINEAR_MODEL).is_file()


def load_checkpoint(auto_class: Any, name: str, trust_remote_code: bool, **options: Any) -> Any:
    """Call auto_class.from_pretrained(name), converting errors to `DataError`."""
    check_folder(name)
    try:
        return pretrained(auto_class, name, trust_remote_code, **options)
    except Exception as error:  # damaged or malicious files raise many types, tokenizers even Exception
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        if auto_class is AutoTokenizer and "instantiate the backend tokenizer" in first_line:  # it has no file
            raise DataError(f"{name}: no tokenizer; save the one used in training there") from error
        fault = one_line(error) if first_line.endswith(":") else first_line
        raise DataError(f"{name} cannot be loaded as a checkpoint: {fault[:300]}") from error


def pretrained(auto_class: Any, name: str | Path, trust_remote_code: bool, **options: Any) -> Any:
    """Return auto_class.from_pretrained(name), of the folder's trusted code where the package refuses its config.

    Auto classes prefer registered classes to trusted code, but those may lack a row that the code of a folder has.
    """
    try:
        return auto_class.from_pretrained(name, trust_remote_code=trust_remote_code, **options)
    except StrictDataclassError as error:
        fields, _ = PreTrainedConfig.get_config_dict(name)
        if auto_class is AutoTokenizer:  # which does without a config's class, too, if the class raises a ValueError
            options["config"] = PreTrainedConfig.from_dict(fields)
            return auto_class.from_pretrained(name, trust_remote_code=trust_remote_code, **options)
        reference = (fields.get("auto_map") or {}).get(auto_class.__name__)
        if not reference:
            raise
        if not trust_remote_code:
            advice = "--trust_remote_code runs the code of the folder"  # first: long lines are cut at their end
            raise ValueError(f"{advice}; the package refuses it: {one_line(error)}") from error
    own: Any = get_class_from_dynamic_module(reference, str(name))
    return own.from_pretrained(name, **options)


def check_loaded(model: Any, info: Mapping[str, Any], untrained: str) -> None:
    """Raise `ValueError` for a model without trained head, or with weights in its files that it does not use.

    Such a model is another one than was trained: its config.json was changed. Classes of other packages may leave
    weights out by design: there, it is a warning. info: that of from_pretrained; untrained: the words for a model
    without trained head.
    """
    if missing := sorted(info["missing_keys"]):
        raise ValueError(f"{untrained}, missing {', '.join(missing[:3])}")
    _check_used(model, info["unexpected_keys"])


def _check_used(model: Any, unexpected: Iterable[str]) -> None:
    if not (unused := sorted(unexpected)):
        return
    fault = f"the files have {len(unused):,} weights that config.json does not describe, such as {unused[0]}"
    if isinstance(model, ScratchPreTrainedModel):
        raise ValueError(f"{fault}; restore config.json")
    print(f"WARNING: {model.config.name_or_path}: {fault}; they are not used", file=sys.stderr)


def load_body(auto_class: Any, name: str, trust_remote_code: bool, **options: Any) -> Any:
    """Load a checkpoint for training, whose head may be another one, and say what is new and what is left out.

    The rest is checked as in `check_loaded`.
    """
    with hidden_messages("transformers.modeling_utils", "LOAD REPORT") as reports:  # which looks like a fault
        try:
            model, info = load_checkpoint(auto_class, name, trust_remote_code, output_loading_info=True, **options)
        except DataError:
            print(*reports, sep="\n", file=sys.stderr)  # says why
            raise
    try:
        _check_used(model, [key for key in info["unexpected_keys"] if key.startswith(f"{model.base_model_prefix}.")])
    except ValueError as error:
        raise DataError(f"--model_name_or_path {name}: {error}") from error
    if getattr(model, "generation_config", None) is not None:
        savable(model.generation_config, name)
    new = [*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])]
    for what, keys in (("new, untrained layers", new), ("unused layers of the checkpoint", info["unexpected_keys"])):
        if keys and os.environ.get("RANK", "0") == "0":  # one of several processes
            layers = sorted({key.rpartition(".")[0] or key for key in keys})
            print(f"{name}: {what}: {', '.join(layers)}")
    return model


def load_model(auto_class: Any, head: str, name: str, trust_remote_code: bool, **options: Any) -> PreTrainedModel:
    """Load a checkpoint for training, converting supported native families to scratch models.

    Weights are float32, as 16 bits would lose small updates. auto_class: the class for unsupported families and
    heads; head: the suffix of the scratch classes with this head.
    """
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    options["dtype"] = torch.float32
    if isinstance(config, ScratchConfig) and config.is_encoder_decoder and "ConditionalGeneration" not in head:
        raise DataError(f"--model_name_or_path {name}: an encoder-decoder, which has no {head}; give an encoder")
    if config.model_type not in FAMILIES or why_not(FAMILIES[config.model_type], head):
        model = load_body(auto_class, name, trust_remote_code, **options)
        if (family := FAMILIES.get(getattr(config, "native_model_type", None))) is not None:
            freeze_zeros(model, family)
        return model
    scratch_class = next((ours for ours in FAMILIES[config.model_type].heads if ours.endswith(head)), None)
    if scratch_class is None:
        model = "GPT-2" if "CausalLM" in head else "BERT"
        fault = f"{config.model_type} has no {head} in this package"
        raise DataError(f"--model_name_or_path {name}: {fault}; give a model that has one, such as {model}")
    try:
        return modeling_scratch.load_pretrained(name, getattr(modeling_scratch, scratch_class), **options).train()
    except (OSError, ValueError) as error:
        raise DataError(f"--model_name_or_path {name}: {error}") from error


Tokenizers = tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]

ALLOW_SPECIAL_TOKENS = "Read special tokens that a text spells out, such as [SEP], as these tokens and not as text."


def read_special_tokens(tokenizer: PreTrainedTokenizerBase, are_allowed: bool | None) -> None:
    """Decide whether special tokens that a text spells out are tokens or text, also after the tokenizer is saved.

    are_allowed: None: as the saved tokenizer states. If it states nothing, they are text: texts of strangers must not
    end, pad or mask what the model reads.
    """
    settings = tokenizer.init_kwargs
    are_text = settings.get("split_special_tokens", True) if are_allowed is None else not are_allowed
    tokenizer.split_special_tokens = settings["split_special_tokens"] = bool(are_text)


def ask_for_mask(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> None:
    """Let the tokenizer give the attention mask that the model takes, also if its files do not name it.

    Without one, padding is read as text, and an answer depends on the other texts of its batch.
    """
    is_taken = "attention_mask" in inspect.signature(model.forward).parameters
    if is_taken and "attention_mask" not in tokenizer.model_input_names:
        tokenizer.model_input_names = [*tokenizer.model_input_names, "attention_mask"]


def load_tokenizers(name: str, trust_remote_code: bool = False) -> Tokenizers:
    """Load source and target tokenizers. Raises `DataError` if a separate target tokenizer is missing."""
    source = load_checkpoint(AutoTokenizer, name, trust_remote_code)
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    is_shared = getattr(config, "share_encoder_decoder_embeddings", True)
    if is_shared or getattr(source, "separate_vocabs", False):  # Marian's tokenizer contains both
        return source, source
    try:
        return source, load_checkpoint(AutoTokenizer, name, trust_remote_code, subfolder=TARGET_FOLDER)
    except DataError as error:
        fault = f"the decoder has a separate vocabulary, but {TARGET_FOLDER}/ holds no tokenizer"
        raise DataError(f"{name}: {fault}; copy that folder from the training run") from error


def with_padding(tokenizer: PreTrainedTokenizerBase, name: str) -> PreTrainedTokenizerBase:
    """Set a missing pad_token (GPT-2, Llama) to eos_token; the attention mask distinguishes the two."""
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise DataError(f"{name}: the tokenizer has neither a pad_token nor an eos_token to replace it")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def position_limit(config: Any) -> int | None:
    """Return the number of learned positions of a model; None if positions are computed."""
    if getattr(config, "position_type", "learned") != "learned":
        return None
    return getattr(config, "max_position_embeddings", None)


def token_limit(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> int:
    """Return the number of tokens of a text that a model reads; above NO_LIMIT: all.

    It is the tokenizer's limit, or else the number of the model's positions. Learned positions limit it in any case.
    """
    given, positions = tokenizer.model_max_length, getattr(config, "max_position_embeddings", None) or 0
    counts = given > NO_LIMIT or position_limit(config) is not None
    return min(given, positions) if positions > 0 and counts else given
