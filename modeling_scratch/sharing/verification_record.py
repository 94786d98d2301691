# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The record verify.json of a saved model: files, tensors, labels, and outputs for a few inputs."""

import copy
import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

import modeling_scratch

from ..data.text_pairs import as_fields, parts_of
from ..run.layout import VERIFICATION
from ..utils.files import file_digest, write_text
from .model_files import MODEL_FILES, WEIGHT_PATTERNS, is_one_of, model_files, weight_files
from .verification_outputs import (
    encode,
    example_ids,
    length_limit,
    load_model,
    outputs_of,
    summarise,
    tokenizers_in,
)

FORMAT = 1

LARGEST_RECORD = 16 * 2**20  # bytes; typical records have tens of thousands
LONGEST_INPUT = 512  # tokens

# Config keys that depend on the library version or on the precision, which is compared separately.
PASSING_KEYS = ("transformers_version", "dtype", "torch_dtype")


class RecordError(ValueError):
    """A missing, damaged or untrustworthy verify.json. The message names the fault."""


# What a record has


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


def describe_model(model: PreTrainedModel) -> dict[str, Any]:
    """Return the class, the number of parameters and the labels."""
    labels: dict[Any, str] = model.config.id2label or {}
    names = [str(labels[index]) for index in sorted(labels)]
    return {"model_class": type(model).__name__, "parameters": model.num_parameters(), "labels": names}


def tensor_digest(tensor: Tensor) -> str:
    """Digest values, dtype and shape to 64 bits of SHA-256, which suffice to distinguish tensors."""
    digest = hashlib.sha256(f"{tensor.dtype} {list(tensor.shape)} ".encode())
    digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def stored_tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of the weights of a folder by name, as they are stored."""
    for path in (folder / name for name in sorted(weight_files(folder)) if name.endswith(".safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118  # it is no dict
                yield name, file.get_tensor(name)


def versions() -> dict[str, str]:
    """Return the versions of Python and the libraries."""
    libraries = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
    return {"python": platform.python_version(), **libraries, "modeling_scratch": modeling_scratch.__version__}


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
        "format": FORMAT, **describe_model(loaded), "dtype": str(loaded.dtype).removeprefix("torch."),
        "tensors": {name: tensor_digest(tensor) for name, tensor in loaded.state_dict().items()},
        "versions": versions(), "max_length": limit,
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


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 20_000


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e39


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{16,64}", value) is not None


def _is_file(name: str, entry: Any) -> bool:
    return is_one_of(name, MODEL_FILES) and _is_count(entry["size"]) and _is_digest(entry["sha256"])


def _is_row(row: Any, count: int, width: int) -> bool:
    """Return whether what is known of a row is inside of an output of so many rows and columns."""
    columns, values = row["columns"], row["values"]
    are_inside = _is_count(row["row"]) and row["row"] < count and all(_is_count(c) and c < width for c in columns)
    return are_inside and len(columns) == len(values) <= 64 and all(map(_is_number, [*values, row["mean"], row["std"]]))


def _is_output(name: str, output: Any) -> bool:
    count, width = output["shape"]
    are_sizes = _is_text(name) and _is_count(count) and _is_count(width) and len(output["rows"]) <= 3
    return are_sizes and all(_is_row(row, count, width) for row in output["rows"])


def _is_input(entry: Any) -> bool:
    texts = [entry.get(name) for name in ("text", "text_pair")]
    ids = entry["ids"]
    return (
        all(text is None or _is_text(text) for text in texts)
        and ids.keys() <= {"input_ids", "token_type_ids", "decoder_input_ids"}
        and all(
            isinstance(row, list) and len(row) <= LONGEST_INPUT and all(map(_is_count, row)) for row in ids.values()
        )
        and all(_is_output(*item) for item in entry["outputs"].items())
    )


FIELDS: dict[str, Callable[[Any], bool]] = {
    "format": lambda value: value == FORMAT,
    "model_class": _is_text,
    "dtype": lambda value: isinstance(getattr(torch, value), torch.dtype),
    "parameters": _is_count,
    "labels": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "versions": lambda value: all(_is_text(name) and _is_text(number) for name, number in value.items()),
    "files": lambda value: all(_is_file(*item) for item in value.items()),
    "tensors": lambda value: all(_is_text(name) and _is_digest(digest) for name, digest in value.items()),
    "max_length": lambda value: _is_count(value) and 0 < value <= LONGEST_INPUT,
    "inputs": lambda value: 0 < len(value) <= 64 and all(map(_is_input, value)),
}


def read_record(path: Path) -> dict[str, Any]:
    """Read and validate a verify.json. Raises RecordError."""
    if path.stat().st_size > LARGEST_RECORD:
        raise RecordError(f"{VERIFICATION} is larger than {LARGEST_RECORD:,} bytes")
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise RecordError(f"{VERIFICATION} cannot be read: {type(error).__name__}") from error
    for name, is_valid in FIELDS.items():
        try:
            is_whole = is_valid(record[name])
        except (LookupError, TypeError, ValueError, AttributeError):  # a part is missing, or of another type
            is_whole = False
        if not is_whole:
            raise RecordError(f"{VERIFICATION}: {name} is missing, damaged, or not allowed")
    return record
