# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Is this copy the model that was trained? File by file, tensor by tensor, logit by logit.

    python -m modeling_scratch.verify runs/demo
    python -m modeling_scratch.verify user/name --revision main

Exit status: 0 the same model, 1 another one, 2 cannot tell. It compares with verify.json, which `write_verification`
put beside the weights: that finds damage, mix-ups and conversions. Against a forger, who would have written verify.json
anew, compare its SHA-256, in the first line, with one that you have from the author.
"""

import argparse
import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import hf_hub_download, snapshot_download
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from .verification_copy import encode, example_ids, load_model, load_tokenizers
from .verification_outputs import describe_model, difference, outputs_of, summarise, tolerance, versions
from .verification_record import (
    CODE, FORMAT, MODEL_FILES, RECORD, WEIGHTS, RecordError, describe_file, is_one_of, model_files, read_record,
)  # fmt: skip

TEXTS = (
    "A warm, funny and very human film.",
    "It is NOT good at all: slow, loud & 20 minutes too long...",
    "Zwei kleine Mädchen spielen am Ufer; the naïve café owner said: \"Don't!\"",
)
MAX_LENGTH = 64


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
    loaded = load_model(folder, otherwise=type(model))
    _check_weights(model, loaded, folder)
    entries: list[tuple[str | None, dict[str, list[int]]]] = [(None, example_ids(loaded, seed)) for seed in (0, 1)]
    limit = min(MAX_LENGTH, len(entries[0][1]["input_ids"]))
    if tokenizer is not None:
        pair = load_tokenizers(folder)
        for text in texts or TEXTS:
            ids = encode(text, pair, loaded, limit)
            if tokenizer(text, truncation=True, max_length=limit)["input_ids"] != ids["input_ids"]:
                raise ValueError(f"{folder} holds another tokenizer than this one: save it there first")
            entries += [(text, ids)] if ids["input_ids"] else []
    record = {
        "format": FORMAT, **describe_model(loaded), "versions": versions(), "max_length": limit,
        "files": {name: describe_file(folder / name) for name in model_files(folder)},
        "inputs": [_record_input(loaded, text, ids) for text, ids in entries],
    }  # fmt: skip
    return _write(folder / RECORD, json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def _check_weights(model: PreTrainedModel, loaded: PreTrainedModel, folder: Path) -> None:
    """Of those that are whole and go by the same name: parts of a sharded or wrapped model are not compared."""
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
    return {"text": text, "ids": ids, "outputs": {name: summarise(values) for name, values in outputs.items()}}


def _write(path: Path, text: str) -> Path:
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as beside:
        written = Path(beside) / path.name
        written.write_text(text, encoding="utf-8")
        written.replace(path)
    return path


# Verifying


class Verdict(IntEnum):
    """The exit status of the program."""

    SAME = 0
    DIFFERENT = 1
    CANNOT_TELL = 2


@dataclass
class FileResult:
    """status: same, rewritten (JSON that says the same), changed, missing, or extra."""

    name: str
    status: str
    detail: str = ""

    @property
    def matters(self) -> bool:
        """Weights are compared tensor by tensor: in which files they lie does not matter."""
        return self.status in ("changed", "missing", "extra") and not is_one_of(self.name, WEIGHTS)


@dataclass
class InputResult:
    """A text or random ids: the largest difference of its logits, inf where they have another shape."""

    name: str
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance


@dataclass
class Report:
    """differences make it another model, problems leave it open, remarks do neither."""

    where: str
    record_sha256: str = ""
    files: list[FileResult] = field(default_factory=list)
    inputs: list[InputResult] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        if self.differences or any(f.matters for f in self.files) or not all(i.agrees for i in self.inputs):
            return Verdict.DIFFERENT
        return Verdict.CANNOT_TELL if self.problems else Verdict.SAME

    def __str__(self) -> str:
        return "\n".join([f"{self.where}  (sha256 of {RECORD}: {self.record_sha256 or 'none'})", *self._lines()])

    def _lines(self) -> Iterator[str]:
        width = max((len(file.name) for file in self.files), default=0)
        yield from (f"  {file.name:{width}}  {file.status}{file.detail}" for file in self.files)
        for entry in self.inputs:
            verb = "agree" if entry.agrees else "DIFFER"
            yield f"  {entry.name}: logits {verb}, by {entry.difference:.2g} at most (tolerance {entry.tolerance:.2g})"
        yield from (f"  {line}" for line in (*self.remarks, *self.differences, *self.problems))
        yield self._conclusion()

    def _conclusion(self) -> str:
        agree = bool(self.inputs) and all(entry.agrees for entry in self.inputs)
        changed = [file.name for file in self.files if file.status != "same"]
        if self.verdict is Verdict.CANNOT_TELL:
            return "Cannot tell whether this is the model that was trained."
        if self.verdict is Verdict.DIFFERENT:
            return "This is NOT the model that was trained" + (", though every logit agrees." if agree else ".")
        if changed:
            return f"This is the model that was trained: {', '.join(changed)} differs, but every logit agrees."
        return "This is the model that was trained: every file is the same, and every logit agrees."
