# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The record verify.json of a saved model: files, tensors, labels, and outputs for a few inputs."""

import copy
import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.text_pairs import as_fields, parts_of
from ..run.layout import VERIFICATION
from ..utils.files import file_digest, write_text
from .model_files import MODEL_FILES, WEIGHT_PATTERNS, is_one_of, model_files
from .verification_outputs import (
    describe_model,
    describe_rounded,
    encode,
    example_ids,
    length_limit,
    load_model,
    outputs_of,
    summarise,
    tokenizers_in,
    versions,
)

FORMAT = 1

LARGEST_RECORD = 16 * 2**20  # bytes; typical records have tens of thousands
LONGEST_INPUT = 512  # tokens

# Config keys that depend on the library version or on the precision, which is compared separately.
PASSING_KEYS = ("transformers_version", "dtype", "torch_dtype")


class RecordError(ValueError):
    """A missing, damaged or untrustworthy verify.json. The message names the fault."""


# Files


def describe_file(path: Path) -> dict[str, Any]:
    """Return size and SHA-256; for JSON also a digest that ignores key order and indentation."""
    entry = {"size": path.stat().st_size, "sha256": file_digest(path)}
    if path.suffix != ".json" or is_one_of(path.name, WEIGHT_PATTERNS):
        return entry
    try:
        content = json.loads(path.read_bytes())
        if isinstance(content, dict):
            content = {key: value for key, value in content.items() if key not in PASSING_KEYS}
        canonical = json.dumps(content, sort_keys=True)
    except (ValueError, RecursionError):
        return entry
    return {**entry, "content": hashlib.sha256(canonical.encode()).hexdigest()}


# Writing

TEXTS = (
    "A warm, funny and very human film.",
    "It is NOT good at all: slow, loud & 20 minutes too long...",
    'Zwei kleine Mädchen spielen am Ufer; the naïve café owner said: "Don\'t!"',
)


def write_verification(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    folder: str | os.PathLike,
    texts: Sequence[str] | None = None,
) -> Path:
    """Write verify.json into the folder that model and tokenizer were saved into.

    The folder is loaded again, on the CPU: what is recorded is what others will have, and the model in memory stays as
    it is, training or on a GPU. texts go into the record as they are, public where the folder is.

    Raises ValueError where the folder holds another model or tokenizer than these, or the outputs are not finite.
    """
    folder = Path(folder)
    loaded, _ = load_model(folder, otherwise=type(model))
    _check_weights(model, loaded, folder)
    entries: list[tuple[str | None, dict[str, list[int]]]] = [(None, example_ids(loaded, seed)) for seed in (0, 1)]
    limit = length_limit(loaded)
    if tokenizer is not None:
        pair = tokenizers_in(folder)
        held = copy.deepcopy(tokenizer)  # calls change a tokenizer's truncation state, which is saved
        for text in texts or TEXTS:
            ids = encode(text, pair, loaded, limit)
            if held(*parts_of(text), truncation=True, max_length=limit)["input_ids"] != ids["input_ids"]:
                raise ValueError(f"AutoTokenizer does not make this tokenizer of {folder}: save it there first")
            entries += [(text, ids)] if ids["input_ids"] else []
    record = {
        "format": FORMAT, **describe_model(loaded), "rounded": describe_rounded(loaded), "versions": versions(),
        "max_length": limit,
        "files": {name: describe_file(folder / name) for name in model_files(folder)},
        "inputs": [_record_input(loaded, text, ids) for text, ids in entries],
    }  # fmt: skip
    write_text(folder / VERIFICATION, json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return folder / VERIFICATION


def _check_weights(model: PreTrainedModel, loaded: PreTrainedModel, folder: Path) -> None:
    """Compare weights of equal name, skipping those of sharded or wrapped models."""
    held = model.state_dict()
    for name, tensor in loaded.state_dict().items():
        other = held.get(name)
        if type(other) is torch.Tensor and not torch.equal(other.to(tensor).nan_to_num(), tensor.nan_to_num()):
            raise ValueError(f"{folder} holds another model than this one, {name} differs: save it there first")


def _record_input(model: PreTrainedModel, text: str | None, ids: dict[str, list[int]]) -> dict[str, Any]:
    outputs = outputs_of(model, ids)
    for name, values in outputs.items():
        if not values.isfinite().all():
            raise ValueError(f"The {name} of {type(model).__name__} are not finite: there is nothing to verify by.")
    texts = {"text": None} if text is None else as_fields(text)
    return {**texts, "ids": ids, "outputs": {name: summarise(values) for name, values in outputs.items()}}


# Reading a possibly damaged or malicious record


class _List(NamedTuple):
    of: Any
    most: int


class _Map(NamedTuple):
    key: Callable[[Any], bool]
    of: Any


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 20_000


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e39


def _digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{16,64}", value) is not None


def _file_name(value: str) -> bool:
    return is_one_of(value, MODEL_FILES)


def _optional(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kind(value)


_IDS = _List(_count, LONGEST_INPUT)
_ROW = {"row": _count, "columns": _List(_count, 64), "values": _List(_number, 64), "mean": _number, "std": _number}
_INPUT = {
    "text": _optional(_text),
    "text_pair": _optional(_text),  # of a pair only
    "ids": _Map(lambda name: name in ("input_ids", "token_type_ids", "decoder_input_ids"), _IDS),
    "outputs": _Map(_text, {"shape": _List(_count, 2), "rows": _List(_ROW, 3)}),
}

_SCHEMA = {
    "format": lambda value: value == FORMAT,
    "model_class": _text, "dtype": lambda value: isinstance(getattr(torch, str(value), None), torch.dtype),
    "parameters": _count, "labels": _List(_text, 100_000), "versions": _Map(_text, _text),
    "files": _Map(_file_name, {"size": _count, "sha256": _digest}), "tensors": _Map(_text, _digest),
    "rounded": _Map(_text, _List(_digest, 4)),
    "max_length": lambda value: _count(value) and 0 < value <= LONGEST_INPUT, "inputs": _List(_INPUT, 64),
}  # fmt: skip


def read_record(path: Path) -> dict[str, Any]:
    """Read and validate a verify.json. Raises RecordError."""
    if path.stat().st_size > LARGEST_RECORD:
        raise RecordError(f"{VERIFICATION} is larger than {LARGEST_RECORD:,} bytes")
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise RecordError(f"{VERIFICATION} cannot be read: {type(error).__name__}") from error
    if isinstance(record, dict):
        record.setdefault("rounded", {})  # records of earlier versions have none
    _check(record, _SCHEMA, "")
    if not record["inputs"]:
        raise RecordError(f"{VERIFICATION}: contains no inputs")
    for entry in record["inputs"]:
        for summary in entry["outputs"].values():
            _check_places(summary["shape"], summary["rows"])
    return record


def _check_places(shape: list[int], rows: list[dict[str, Any]]) -> None:
    count, width = shape if len(shape) == 2 else (0, 0)
    for row in rows:
        inside = row["row"] < count and all(column < width for column in row["columns"])
        if not inside or len(row["columns"]) != len(row["values"]):
            raise RecordError(f"{VERIFICATION}: row {row['row']} of an output has values outside of its shape {shape}")


def _check(value: Any, kind: Any, where: str) -> None:
    if isinstance(kind, dict | _List | _Map):
        right = isinstance(value, list) and len(value) <= kind.most if isinstance(kind, _List) else type(value) is dict
    else:
        right = kind(value)
    if not right:
        raise RecordError(f"{VERIFICATION}: {where or 'it'} has an invalid value: {ascii(value)[:60]}")
    if isinstance(kind, _List):
        for index, item in enumerate(value):
            _check(item, kind.of, f"{where}[{index}]")
    elif isinstance(kind, _Map):
        for key, item in value.items():
            if not kind.key(key):
                raise RecordError(f"{VERIFICATION}: {where} names {ascii(key)[:60]}, which is not allowed")
            _check(item, kind.of, f"{where}[{key!a}]")
    elif isinstance(kind, dict):
        for key, expected in kind.items():
            _check(value.get(key), expected, f"{where}.{key}".lstrip("."))
