# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Refuse files of a model folder that no training wrote, or that lead elsewhere, before a library reads them."""

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError, quoted
from ..utils.files import check_regular

MOST_PENALTY = 10  # of a length in beam search: the power must stay within float32
NO_LIMIT = 10**20  # a larger model_max_length means no limit, and can be written as 1e30
JSON_BYTES = 16_000_000
TOKENIZER_BYTES = 256_000_000
NEEDS_UNKNOWN = ("WordLevel", "WordPiece")  # the library raises an error at the first unknown word


def check_model_files(folder: Path) -> None:
    """Raise `DataError` for a file of the folder that no trained model has. Missing and damaged files mostly pass."""
    _check_labels(folder / "config.json")
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


def _check_labels(path: Path) -> None:
    labels = _read(path).get("id2label")
    if labels is None:
        return
    if not _are_labels(labels):
        raise DataError(f"{path}: id2label must name the labels 0, 1, ... without a gap, not {quoted(labels)[:80]}")
    counts = Counter(labels.values())
    if twice := next((name for name, count in counts.items() if count > 1), None):
        raise DataError(f"{path}: id2label gives several labels the name {quoted(twice)[:80]}")


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
