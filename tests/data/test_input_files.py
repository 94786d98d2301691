# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Input files that never end, never begin or are too large are refused by every program before it reads them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import convert_checkpoint
import generate
import predict
import pretrain
import pytest
import train_answers
import train_classifier
import train_tokenizer
import train_tokens
import train_translation
from processes import refusal

from modeling_scratch.data.columns import read_lines
from modeling_scratch.data.tables import read_rows
from modeling_scratch.utils.errors import DataError

PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "predict": (predict.main, "--model {folder} --input {file}"),
    "generate": (generate.main, "--model_name_or_path {folder} --input_file {file}"),
    "train-classifier": (train_classifier.main, "--train_file {file} --output_dir {folder}/run --use_cpu"),
    "train-translation": (train_translation.main, "--train_file {file} --output_dir {folder}/run --use_cpu"),
    "train-tokens": (train_tokens.main, "--train_file {file} --output_dir {folder}/run --use_cpu"),
    "train-answers": (train_answers.main, "--train_file {file} --output_dir {folder}/run --use_cpu"),
    "train-tokenizer": (train_tokenizer.main, "--train_file {file} --output_dir {folder}/run"),
    "pretrain": (pretrain.main, "--objective clm --train_file {file} --output_dir {folder}/run --use_cpu"),
    "validation": (
        train_classifier.main,
        "--train_file {folder}/x --validation_file {file} --output_dir {folder}/run --use_cpu",
    ),
}
DATA_DIR = "--data_dir {folder} --output_dir {folder}/run"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_programs_read_regular_files_of_bounded_size(
    tmp_path: Path, capsys: pytest.CaptureFixture, program: str, kind: str
) -> None:
    file = tmp_path / "train.csv"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.touch()
        os.truncate(file, 10**10 + 1)  # takes no room on the disk
    main, options = PROGRAMS[program]
    message = refusal(capsys, main, options.format(file=file, folder=tmp_path).split())
    wanted = "10,000,000,001 bytes; the maximum is 10,000,000,000 (--max_file_size 10)"
    assert f"{file}: {wanted if kind == 'large' else 'not a regular file'}" in message


@pytest.mark.parametrize(
    ("main", "needed"),
    [
        (train_classifier.main, ""),
        (train_tokens.main, ""),
        (train_answers.main, ""),
        (train_tokenizer.main, ""),
        (pretrain.main, "--objective clm"),
    ],
)
def test_files_of_a_folder_are_bounded_too(
    tmp_path: Path, capsys: pytest.CaptureFixture, main: Any, needed: str
) -> None:
    (tmp_path / "train.jsonl").touch()
    os.truncate(tmp_path / "train.jsonl", 2_000_001)
    message = refusal(capsys, main, f"{DATA_DIR.format(folder=tmp_path)} --max_file_size 0.002 {needed}".split())
    assert "train.jsonl: 2,000,001 bytes; the maximum is 2,000,000 (--max_file_size 0.002)" in message


def test_the_bound_has_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    message = refusal(capsys, predict.main, f"--model {tmp_path} --max_file_size nan".split())
    assert "--max_file_size nan: must be above 0" in message


def test_texts_of_a_conversion_come_from_a_regular_file(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    os.mkfifo(tmp_path / "texts.txt")
    options = f"--input {tmp_path} --output_dir {tmp_path}/new --text_file {tmp_path}/texts.txt"
    assert "texts.txt: not a regular file" in refusal(capsys, convert_checkpoint.main, options.split())


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"file{suffix}"
    path.touch()
    os.truncate(path, 2**33)
    with pytest.raises(DataError, match="line 1: longer than 40,000,000 characters"):
        list(read_rows(path))


def test_standard_input_without_an_end_of_line_is_not_read_whole() -> None:
    with Path("/dev/zero").open("rb") as handle, pytest.raises(DataError, match="--input -, line 1: longer than"):
        list(read_lines(handle, "--input -"))
