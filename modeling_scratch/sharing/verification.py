# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The record verify.json of a saved model: the digests of its files, and what it answers to a few inputs.

The doctor's checks `recorded_files` and `recorded_answers` compare a copy with it.
Shapes: R rows (positions, or texts), C columns (labels, tokens of the vocabulary, or features).
"""

import copy
import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from ..bridges.model_sources import pretrained
from ..data.text_pairs import as_fields, from_fields, parts_of
from ..run.layout import VERIFICATION
from ..utils.errors import DataError
from ..utils.files import file_digest, read_json, write_text
from .model_files import all_files, is_read, model_files, named_code
from .saved_model import load_model

FORMAT = 1
MAX_LENGTH = 64  # tokens of an input
FEW_COLUMNS, SPREAD_COLUMNS, TOP_COLUMNS = 32, 16, 5
# Of answers computed elsewhere, relative to the largest one; records of earlier versions can be of 16 bits.
TOLERANCE = {"float32": 1e-4, "float16": 0.01, "bfloat16": 0.05}
TEXTS = (
    "A warm, funny and very human film.",
    "It is NOT good at all: slow, loud & 20 minutes too long...",
    'Zwei kleine Mädchen spielen am Ufer; the naïve café owner said: "Don\'t!"',
)


# Writing


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
    loaded = loaded.float()
    # RoBERTa reserves two positions.
    limit = max(2, min(MAX_LENGTH, getattr(loaded.config, "max_position_embeddings", 2 * MAX_LENGTH) - 2))
    inputs = [_answered(loaded, _random_ids(loaded, limit, seed)) for seed in (0, 1)]
    if tokenizer is not None:
        saved = pretrained(AutoTokenizer, folder, False)
        ids = {text: {"input_ids": _ids_of(saved, text, limit)} for text in texts or TEXTS}
        held = copy.deepcopy(tokenizer)  # calls change a tokenizer's truncation state, which is saved
        if any(_ids_of(held, text, limit) != each["input_ids"] for text, each in ids.items()):
            raise ValueError(f"AutoTokenizer does not make this tokenizer of {folder}: save it there first")
        inputs += [{**as_fields(text), "ids": each, "outputs": {}} for text, each in ids.items()]
    record = {
        "format": FORMAT, "dtype": "float32", "max_length": limit,
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
        "files": {name: {"sha256": file_digest(folder / name)} for name in model_files(folder)}, "inputs": inputs,
    }  # fmt: skip
    write_text(folder / VERIFICATION, json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return folder / VERIFICATION


def _check_weights(model: PreTrainedModel, loaded: PreTrainedModel, folder: Path) -> None:
    """Compare weights of equal name, skipping those of sharded or wrapped models."""
    held = model.state_dict()
    for name, tensor in loaded.state_dict().items():
        other = held.get(name)
        if type(other) is Tensor and not torch.equal(other.to(tensor).nan_to_num(), tensor.nan_to_num()):
            raise ValueError(f"{folder} holds another model than this one, {name} differs: save it there first")


def _random_ids(model: PreTrainedModel, length: int, seed: int) -> dict[str, list[int]]:
    """Draw random ids without padding; the last one read is the end token, if there is one."""
    config: Any = model.config
    if model.main_input_name != "input_ids":
        raise ValueError(f"{type(model).__name__} reads {model.main_input_name}, and there is a record for text alone.")
    table: Any = model.get_input_embeddings()
    vocabularies = {"input_ids": len(table.weight)}
    if config.is_encoder_decoder:
        vocabularies["decoder_input_ids"] = getattr(config, "decoder_vocab_size", len(table.weight))
    generator = torch.Generator().manual_seed(seed)
    drawn = {name: torch.randint(size, (length,), generator=generator) for name, size in vocabularies.items()}
    rows = {
        name: torch.where(ids == config.pad_token_id, (ids + 1) % vocabularies[name], ids).tolist()
        for name, ids in drawn.items()
    }
    if isinstance(config.eos_token_id, int):  # a classifier of BART reads its answer there
        rows["input_ids"][-1] = config.eos_token_id
    return rows


def _answered(model: PreTrainedModel, ids: dict[str, list[int]]) -> dict[str, Any]:
    outputs = _outputs_of(model, ids)
    for name, values in outputs.items():
        if not values.isfinite().all():
            raise ValueError(f"The {name} of {type(model).__name__} are not finite: there is nothing to verify by.")
    return {"text": None, "ids": ids, "outputs": {name: summarise(values) for name, values in outputs.items()}}


def _ids_of(tokenizer: Any, text: str, limit: int) -> list[int]:
    return tokenizer(*parts_of(text), truncation=True, max_length=limit)["input_ids"]


@torch.no_grad()
def _outputs_of(model: PreTrainedModel, ids: Mapping[str, list[int]]) -> dict[str, Tensor]:
    """Return all floating-point outputs by name, (R, C) float64: logits, or hidden states of a base model."""
    batch = {name: torch.tensor([row]) for name, row in ids.items()}
    return {
        name: value.double().reshape(-1, value.shape[-1])
        for name, value in model(**batch, return_dict=True).items()
        if isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1
    }


def summarise(values: Tensor) -> dict[str, Any]:
    """Summarise the first, middle and last row of (R, C); wide rows by spaced and top columns, mean and std."""
    count, width = values.shape
    rows = []
    for place in sorted({0, count // 2, count - 1}):
        row = values[place]
        columns = list(range(width))
        if width > FEW_COLUMNS:
            spread = torch.linspace(0, width - 1, SPREAD_COLUMNS).long().tolist()
            columns = sorted({*spread, *row.topk(TOP_COLUMNS).indices.tolist()})
        mean, std = row.mean().item(), row.std(unbiased=False).item()
        rows.append({"row": place, "columns": columns, "values": row[columns].tolist(), "mean": mean, "std": std})
    return {"shape": [count, width], "rows": rows}


# Comparing


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a folder, {} if there is none. Raises `DataError` if it is damaged."""
    path = folder / VERIFICATION
    if not path.is_file():
        return {}
    try:
        record = read_json(path)
        is_whole = record["format"] == FORMAT and all("sha256" in entry for entry in record["files"].values())
        is_whole &= all({"text", "ids", "outputs"} <= entry.keys() for entry in record["inputs"])
        is_whole &= all(len(ids) <= MAX_LENGTH for entry in record["inputs"] for ids in entry["ids"].values())
    except (ValueError, LookupError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise DataError(f"{path} is damaged: get it from the author of the model, or write a new one")
    return record


def differing_files(folder: Path) -> list[str]:
    """Return how the files that loaders could read are not those of the record, such as "stack.py (changed)".

    Where they are the same, return the code that they name outside of the record. None without a record.
    """
    if not (record := read_record(folder)):
        return []
    wanted = {name: entry["sha256"] for name, entry in record["files"].items()}
    names = [name for name in all_files(folder) if is_read(name)]
    found = {name: file_digest(folder / name) if (folder / name).is_file() else "a link" for name in names}
    different = [
        f"{name} ({'not recorded' if name not in wanted else 'changed' if name in found else 'missing'})"
        for name in sorted(wanted.keys() | found.keys())
        if found.get(name) != wanted.get(name)
    ]
    return different or _code_outside(folder, wanted)


def _code_outside(folder: Path, recorded: Collection[str]) -> list[str]:
    """Return the code references, file.Class, that lead out of the recorded files beside config.json."""
    try:
        named = named_code(folder, recorded)
    except ValueError as error:  # of JSON that cannot be read
        return [str(error)]
    return [
        f"{name} (code that is in no recorded file)"
        for name in named
        if "--" in name or "/" in name or f"{name.rpartition('.')[0]}.py" not in recorded
    ]


def is_recorded(folder: Path) -> bool:
    """Return whether there is a record, and all code that can run is that of its files: what trust in it means."""
    try:
        return bool(read_record(folder)) and not differing_files(folder)
    except DataError:
        return False


def differing_texts(record: Mapping[str, Any], tokenizer: Any) -> list[str]:
    """Return the texts of the record that a tokenizer reads otherwise."""
    given = [entry for entry in record["inputs"] if entry["text"] is not None]
    texts = {from_fields(entry): entry["ids"]["input_ids"] for entry in given}
    return [text for text, ids in texts.items() if _ids_of(tokenizer, text, record["max_length"]) != ids]


def largest_difference(record: Mapping[str, Any], model: PreTrainedModel) -> float:
    """Return how far the answers of a model are from the record, relative to the largest one; inf for other shapes."""
    apart = [
        difference(_outputs_of(model, each["ids"]), each["outputs"]) for each in record["inputs"] if each["outputs"]
    ]
    return max(apart, default=0.0)


def difference(outputs: Mapping[str, Tensor], recorded: Mapping[str, Any]) -> float:
    """Return how far outputs are from their summaries, relative to the largest value of a row if that is above 1."""
    if outputs.keys() != recorded.keys():
        return math.inf
    apart = 0.0
    for name, summary in recorded.items():
        values = outputs[name]
        if list(values.shape) != summary["shape"]:
            return math.inf
        for expected in summary["rows"]:
            row = values[expected["row"]]
            found = torch.stack([*row[expected["columns"]], row.mean(), row.std(unbiased=False)])
            wanted = found.new_tensor([*expected["values"], expected["mean"], expected["std"]])
            scale = wanted.abs().max().clamp(min=1)
            apart = max(apart, ((found - wanted).abs() / scale).nan_to_num(nan=math.inf).max().item())
    return apart
