# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Verify a copy of a model against its verify.json, and report the result."""

import argparse
import os
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from transformers import PreTrainedModel

from ..data.text_pairs import from_fields
from ..run.layout import VERIFICATION
from ..utils.terminal import flush_output, protect_terminal
from .model_files import MODEL_FILES, WEIGHT_PATTERNS, all_files, is_one_of, is_read, named_code, weight_files
from .verification_outputs import difference, encode, load_model, outputs_of, tokenizers_in, tolerance
from .verification_record import (
    RecordError,
    describe_file,
    describe_model,
    read_record,
    stored_tensors,
    tensor_digest,
    versions,
    write_verification,
)


class Verdict(IntEnum):
    """The exit status of the program."""

    SAME = 0
    DIFFERENT = 1
    CANNOT_TELL = 2


@dataclass
class FileResult:
    """status: same, rewritten (equivalent JSON), changed, missing or extra.

    by_tensor: the file holds the weights, which are compared by tensor.
    """

    name: str
    status: str
    detail: str = ""
    by_tensor: bool = False

    @property
    def matters(self) -> bool:
        """Whether the status counts as a difference."""
        return self.status in ("changed", "missing", "extra") and not self.by_tensor


@dataclass
class InputResult:
    """The largest difference of the outputs for a text or random ids; inf if the shapes differ."""

    name: str
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance


@dataclass
class Report:
    """The result: differences mean a different model, problems an undetermined result, remarks neither."""

    where: str
    record_sha256: str = ""
    files: list[FileResult] = field(default_factory=list)
    inputs: list[InputResult] = field(default_factory=list)
    versions: str = ""  # those that are not the versions of the record
    differences: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        if self.differences or any(f.matters for f in self.files) or not all(i.agrees for i in self.inputs):
            return Verdict.DIFFERENT
        return Verdict.CANNOT_TELL if self.problems else Verdict.SAME

    def __str__(self) -> str:
        return "\n".join([f"{self.where}  (sha256 of {VERIFICATION}: {self.record_sha256 or 'none'})", *self._lines()])

    def _lines(self) -> Iterator[str]:
        width = max((len(_plain(file.name)) for file in self.files), default=0)
        yield from (f"  {_plain(file.name):{width}}  {file.status}{file.detail}" for file in self.files)
        for entry in self.inputs:
            verb, limit = "agree" if entry.agrees else "DIFFER", f"(tolerance {entry.tolerance:.2g})"
            yield f"  {entry.name}: logits {verb}, largest difference {entry.difference:.2g} {limit}"
        yield from (f"  {line}" for line in (*self.remarks, *self.differences, *self.problems))
        if self.versions:
            yield f"  the versions differ: {self.versions}"
        yield self._conclusion()

    def _conclusion(self) -> str:
        if self.verdict is Verdict.SAME:
            return "This is the model that was trained: the weights are the same, and every logit agrees."
        if self.verdict is Verdict.CANNOT_TELL:
            return "Cannot tell whether this is the model that was trained."
        if self.differences or any(file.status != "same" for file in self.files):
            return "This is NOT the model that was trained."
        may_be = "the versions differ" if self.versions else "the versions are the same, the hardware may differ"
        return f"Files and weights are those of the model that was trained, but NOT its answers: {may_be}."


def _plain(name: str) -> str:
    """Escape a file name, so that it cannot contain terminal control sequences."""
    return ascii(name)[1:-1]


__all__ = ["FileResult", "InputResult", "Report", "Verdict", "verify", "write_verification"]


def verify(
    folder_or_repo: str | os.PathLike,
    trust_remote_code: bool = False,
    revision: str | None = None,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> Report:
    """Compare a folder or a repository on the Hub with its verify.json. Print the report to read it.

    - trust_remote_code: run the folder's code if neither this package nor transformers has the model class, unless a
      model file other than weights differs from the record, or names code outside the recorded files.
    - dtype: compute in this type instead of the stored one.

    Faults of the folder do not raise; they are part of the report.
    """
    report = Report(str(folder_or_repo))
    try:
        folder, names = _find(folder_or_repo, revision)
        record = read_record(folder / VERIFICATION)
        report.versions = _other_versions(record["versions"])
        report.record_sha256 = describe_file(folder / VERIFICATION)["sha256"]
        report.files = list(_compare_files(folder, names, record["files"]))
    except (RecordError, OSError) as error:
        report.problems.append(str(error))
        return report
    try:
        is_trusted = _may_run(folder, trust_remote_code, report)
        model, loading = load_model(folder, is_trusted)
        _compare_models(model, record, report)
        if any(file.by_tensor and file.status != "same" for file in report.files):
            _compare_tensors(folder, loading["missing_keys"], record, report)
        _compare_tokenizers(model, folder, record, is_trusted, report)
        model.to(device=device, dtype=dtype)  # type: ignore[call-arg]
        _compare_outputs(model, record, report)
    except Exception as error:  # files, weights, configuration, device: libraries raise many types
        whole = all(file.status == "same" for file in report.files)
        reason = textwrap.shorten(str(error).replace(str(folder), report.where), 300)
        (report.problems if whole else report.differences).append(f"cannot be loaded and run here: {reason}")
    return report


def _find(folder_or_repo: str | os.PathLike, revision: str | None) -> tuple[Path, list[str]]:
    """Return the local folder and the names of all its files. Of a repository, the model's files are downloaded."""
    folder, name = Path(folder_or_repo), str(folder_or_repo)
    if folder.is_dir():
        if revision is not None:
            raise RecordError(f"--revision {revision}: a folder has none; leave it out, or name a repository")
        names = all_files(folder)
    elif folder.is_absolute():
        raise RecordError("folder not found")
    else:
        try:
            commit = Path(hf_hub_download(name, VERIFICATION, revision=revision)).parent.name
            names = HfApi().list_repo_files(name, revision=commit)
            wanted = [file for file in names if is_one_of(file, MODEL_FILES)]
            folder = Path(snapshot_download(name, revision=commit, allow_patterns=[VERIFICATION, *wanted]))
        except Exception as error:  # names, network, server: many types
            reason = textwrap.shorten(str(error), 240)
            raise RecordError(f"neither a folder nor an accessible repository with {VERIFICATION}: {reason}") from error
    if not (folder / VERIFICATION).is_file():
        raise RecordError(f"it has no {VERIFICATION}; get it from the author of the model")
    return folder, names


def _other_versions(recorded: dict[str, str]) -> str:
    """Return each version that is another here: "torch 2.13.0 in the record, 2.12.1 here"; "" if none is."""
    here = versions()
    pairs = ((name, was, here.get(name, "none")) for name, was in recorded.items())
    return ", ".join(
        f"{_plain(name)} {_plain(was)} in the record, {now} here" for name, was, now in pairs if now != was
    )


def _compare_files(folder: Path, names: Sequence[str], recorded: dict[str, dict[str, Any]]) -> Iterator[FileResult]:
    """Compare the recorded files, and name all others that a loader could read or run."""
    present, weights = set(filter(is_read, names)), weight_files(folder)
    for name in sorted({*recorded, *present}):
        if name not in recorded:
            yield FileResult(name, "extra", f" (not in {VERIFICATION})", name in weights)
        elif name not in present:
            yield FileResult(name, "missing", by_tensor=is_one_of(name, WEIGHT_PATTERNS))
        else:
            result = _compare_file(name, describe_file(folder / name), recorded[name])
            yield replace(result, by_tensor=name in weights)


def _compare_file(name: str, found: dict[str, Any], wanted: dict[str, Any]) -> FileResult:
    if found["sha256"] == wanted["sha256"]:
        return FileResult(name, "same")
    if found["size"] == wanted["size"]:
        detail = f" (sha256 {found['sha256'][:12]}, recorded {wanted['sha256'][:12]})"
    else:
        detail = f" ({found['size']:,} bytes, recorded {wanted['size']:,})"
    says_the_same = "content" in found and found["content"] == wanted.get("content")
    return FileResult(name, "rewritten" if says_the_same else "changed", detail)


def _may_run(folder: Path, trust_remote_code: bool, report: Report) -> bool:
    """Return whether code is trusted, and only that of recorded files can run; otherwise report the reasons."""
    recorded = {file.name for file in report.files if file.status != "extra"}
    named = named_code(folder, filter(is_read, all_files(folder)))
    outside = [f"{_shown(name)} is in no recorded file" for name in named if not _is_in(name, recorded)]
    if outside:
        report.problems.append(f"the code that the folder names cannot be compared: {', '.join(outside[:3])}")
    reasons = [f"{_shown(file.name)} differs" for file in report.files if file.matters] or outside
    if reasons and trust_remote_code:
        report.remarks.append(f"no code of it was run: {', '.join(reasons[:3])}")
    return trust_remote_code and not reasons


def _is_in(reference: str, recorded: Collection[str]) -> bool:
    """Return whether a code reference, file.Class, is in one of the recorded files of this repository."""
    return "--" not in reference and f"{reference.rpartition('.')[0]}.py" in recorded


def _compare_models(model: PreTrainedModel, record: dict[str, Any], report: Report) -> None:
    found = describe_model(model)
    for name, what in {"model_class": "class", "parameters": "number of parameters", "labels": "labels"}.items():
        if found[name] != record[name]:
            report.differences.append(f"the {what}: {found[name]!a}, recorded {record[name]!a}")


def _compare_tensors(folder: Path, missing: Sequence[str], record: dict[str, Any], report: Report) -> None:
    """Compare the tensors of weights that were written anew, as they are stored, whoever reads them."""
    recorded, wanted = getattr(torch, record["dtype"]), record["tensors"]
    tensors = {name: (tensor.dtype, tensor_digest(tensor)) for name, tensor in stored_tensors(folder)}
    types = {dtype for dtype, _ in tensors.values() if dtype.is_floating_point}
    if len(types) == 1 and recorded not in types:
        report.problems.append(f"the weights are {types.pop()}, were {recorded}: only their outputs can be compared")
        changed = {*tensors} - wanted.keys()
    else:
        changed = {name for name, (_, digest) in tensors.items() if digest != wanted.get(name)}
    if names := sorted(changed | {*missing}):
        shown = ", ".join(map(ascii, names[:3])) + (", ..." if names[3:] else "")
        report.differences.append(f"{len(names)} of {len(wanted)} tensors differ: {shown}")


def _compare_tokenizers(
    model: PreTrainedModel, folder: Path, record: dict[str, Any], trust_remote_code: bool, report: Report
) -> None:
    entries = [entry for entry in record["inputs"] if entry["text"] is not None]
    if not entries:
        return
    pair = tokenizers_in(folder, trust_remote_code)
    for entry in entries:
        found = encode(from_fields(entry), pair, model, record["max_length"])
        for name, wanted in entry["ids"].items():
            places = enumerate(zip_longest(found.get(name, []), wanted))
            if other := next(((place, now, was) for place, (now, was) in places if now != was), None):
                place, now, was = other
                report.differences.append(
                    f"{_shown(entry['text'])} tokenises differently: token {place} of {name} is {now}, recorded {was}"
                )


def _compare_outputs(model: PreTrainedModel, record: dict[str, Any], report: Report) -> None:
    """Compare outputs for the recorded ids, independently of the tokenizer."""
    summaries = [summary for entry in record["inputs"] for summary in entry["outputs"].values()]
    largest = max((abs(v) for summary in summaries for row in summary["rows"] for v in row["values"]), default=0.0)
    tolerated = tolerance(model, getattr(torch, record["dtype"]), largest)
    for number, entry in enumerate(record["inputs"]):
        name = f"input {number}" if entry["text"] is None else _shown(from_fields(entry))
        apart = difference(outputs_of(model, entry["ids"]), entry["outputs"])
        report.inputs.append(InputResult(name, apart, tolerated))


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else f"{text[:37]}...")


def main(arguments: Sequence[str] | None = None) -> Verdict:
    protect_terminal()
    parser = argparse.ArgumentParser(description="Is this the model that was trained?")
    parser.add_argument("folder_or_repo", help="a folder, or a repository of the Hub")
    parser.add_argument("--revision", help="of the repository: a branch, a tag or a commit")
    parser.add_argument(
        "--trust_remote_code", "--trust-remote-code", action="store_true", help="run the code that it brings along"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], help="compute in this type")
    options = vars(parser.parse_args(arguments))
    options["dtype"] = options["dtype"] and getattr(torch, options["dtype"])
    if not Path(name := options["folder_or_repo"]).is_dir():
        print(f"There is no folder {name}: looking for a repository on the Hub.", file=sys.stderr, flush=True)
    report = verify(**options)
    try:
        print(report)
        flush_output()
    except OSError as error:  # the verdict is not told: status 2, undetermined
        with suppress(OSError):
            flush_output()
        parser.exit(2, f"{parser.prog}: error: standard output: {error}\n")
    return report.verdict
