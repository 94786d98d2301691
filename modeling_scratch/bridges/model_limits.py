# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Refuse files of a model folder that no training wrote, or that lead elsewhere, before a library reads them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError, quoted
from ..utils.files import check_regular

MOST_PENALTY = 10  # of a length in beam search: the power must stay within float32
NO_LIMIT = 10**20  # a larger model_max_length means no limit, and can be written as 1e30
JSON_BYTES = 16_000_000
TOKENIZER_BYTES = 256_000_000


def check_model_files(folder: Path) -> None:
    """Raise `DataError` for a file of the folder that no trained model has. Missing and damaged files mostly pass."""
    _check_labels(folder / "config.json")
    for index in folder.glob("*.index.json"):
        _check_index(index)
    for tokenizer in (folder / "tokenizer.json", folder / TARGET_FOLDER / "tokenizer.json"):
        check_regular(tokenizer, TOKENIZER_BYTES)


def _read(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if the library has to report what is wrong with it."""
    check_regular(path, JSON_BYTES)
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError):
        return {}
    return content if isinstance(content, dict) else {}


def _check_labels(path: Path) -> None:
    labels = _read(path).get("id2label")
    if labels is None:
        return
    named = isinstance(labels, dict) and all(isinstance(name, str) for name in labels.values())
    if not named or set(map(str, labels)) != set(map(str, range(len(labels)))):
        raise DataError(f"{path}: id2label must name the labels 0, 1, ... without a gap, not {quoted(labels)[:80]}")
    if twice := [name for name, count in Counter(labels.values()).items() if count > 1]:
        raise DataError(f"{path}: id2label gives several labels the name {quoted(twice[0])[:80]}")


def _check_index(path: Path) -> None:
    shards = _read(path).get("weight_map", {})
    if not (isinstance(shards, dict) and all(isinstance(shard, str) for shard in shards.values())):
        raise DataError(f"{path}: weight_map must give the file of each weight, not {ascii(shards)[:80]}")
    for shard in set(shards.values()):
        if Path(shard).name != shard:
            raise DataError(f"{path}: names {ascii(shard)[:80]}, which is not a file of its folder")
