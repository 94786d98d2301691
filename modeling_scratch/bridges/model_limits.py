# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Refuse files of a model folder that would take all time or memory, or lead elsewhere, before a library reads them."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError, quoted
from ..utils.files import check_regular

MOST_LAYERS = 1_000
MOST_PENALTY = 10  # of a length in beam search: the power must stay within float32
MOST_WEIGHTS = 100  # per byte of the weight files; quantised and shared weights need a few
WEIGHT_FILES = ("*.safetensors", "pytorch_model*.bin")
NO_LIMIT = 10**20  # a larger model_max_length means no limit, and can be written as 1e30
JSON_BYTES = 16_000_000
TOKENIZER_BYTES = 256_000_000
NEEDS_UNKNOWN = ("WordLevel", "WordPiece")  # the library raises an error at the first unknown word
# The names of sizes in the configurations of the library's families.
LAYERS = ("num_hidden_layers", "encoder_layers", "decoder_layers", "n_layer", "n_layers", "num_layers")
WIDTHS = ("hidden_size", "d_model", "n_embd", "dim")
INNER = ("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "n_inner", "hidden_dim")
VOCABULARIES = ("vocab_size", "decoder_vocab_size")


def check_model_files(folder: Path) -> None:
    """Raise `DataError` for a file of the folder that no trained model has. Missing and damaged files mostly pass."""
    _check_config(folder / "config.json")
    for index in folder.glob("*.index.json"):
        _check_index(index)
    for place in (folder, folder / TARGET_FOLDER):
        _check_tokenizer_config(place / "tokenizer_config.json")
        tokenizer = place / "tokenizer.json"
        if tokenizer.exists():
            _check_tokenizer(tokenizer, tokenizer.stat().st_mtime_ns, tokenizer.stat().st_size)


def _read(path: Path, most: int = JSON_BYTES) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if the library has to report what is wrong with it."""
    if not path.exists():
        return {}
    check_regular(path, most)
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError):
        return {}
    return content if isinstance(content, dict) else {}


def _check_config(path: Path) -> None:
    for config in _configs(_read(path)):
        layers, width, inner, vocabulary = (_largest(config, names) for names in (LAYERS, WIDTHS, INNER, VOCABULARIES))
        if layers > MOST_LAYERS:
            raise DataError(f"{path}: {layers:,} layers; the maximum is {MOST_LAYERS:,}")
        weights = width * (vocabulary + layers * (width + inner))
        stored = sum(file.stat().st_size for kind in WEIGHT_FILES for file in path.parent.glob(kind))
        if stored and weights > MOST_WEIGHTS * stored:
            raise DataError(f"{path}: describes about {weights:,} weights, but the files have only {stored:,} bytes")
        labels = config.get("id2label")
        if labels is not None and not _are_labels(labels):
            raise DataError(f"{path}: id2label must name the labels 0, 1, ... without a gap, not {quoted(labels)[:80]}")
        counts = Counter((labels or {}).values())
        if twice := next((name for name, count in counts.items() if count > 1), None):
            raise DataError(f"{path}: id2label gives several labels the name {quoted(twice)[:80]}")


def _configs(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a configuration and those inside it, such as those of an encoder and a decoder."""
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _configs(value)


def _largest(config: dict[str, Any], names: tuple[str, ...]) -> int:
    return max(value if isinstance(value := config.get(name), int) else 0 for name in names)


def _are_labels(labels: Any) -> bool:
    named = isinstance(labels, dict) and all(isinstance(name, str) for name in labels.values())
    return named and {str(label) for label in labels} == {str(number) for number in range(len(labels))}


def _check_index(path: Path) -> None:
    content = _read(path)
    shards = content.get("weight_map")
    if content and not (isinstance(shards, dict) and all(isinstance(shard, str) for shard in shards.values())):
        raise DataError(f"{path}: weight_map must give the file of each weight, not {ascii(shards)[:80]}")
    for shard in set((shards or {}).values()):
        if Path(shard).name != shard:
            raise DataError(f"{path}: names {ascii(shard)[:80]}, which is not a file of its folder")


def _check_tokenizer_config(path: Path) -> None:
    limit = _read(path).get("model_max_length", 1)
    is_number = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and not (limit >= 1 if is_number else isinstance(limit, float) and limit > NO_LIMIT):
        raise DataError(f"{path}: model_max_length must be a number of tokens, not {ascii(limit)[:40]}")


@lru_cache(maxsize=16)  # a program loads a tokenizer several times, and this file can have megabytes
def _check_tokenizer(path: Path, changed: int, size: int) -> None:
    content = _read(path, TOKENIZER_BYTES)
    if "model" not in content or "added_tokens" not in content:
        raise DataError(f"{path}: not a tokenizer: lacks model or added_tokens, or is damaged")
    model = content.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) and model.get("type") in NEEDS_UNKNOWN else None
    if isinstance(vocabulary, dict) and str(unknown := model.get("unk_token")) not in vocabulary:
        raise DataError(f"{path}: the vocabulary lacks the unknown token, {ascii(unknown)[:40]}; restore the file")
