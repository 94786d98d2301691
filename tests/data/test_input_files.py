# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Input files that never end, never begin or are too large are refused before a program reads them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generate
import predict
import pretrain
import pytest
import train_answers
import train_classifier
import train_tokens
import train_translation
from processes import refusal
from text_samples import fault, write

from modeling_scratch.data.columns import read_lines, read_texts
from modeling_scratch.data.documents import read_plain_text
from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments
from modeling_scratch.data.tables import read_rows
from modeling_scratch.data.text_files import MAX_FIELD_CHARACTERS
from modeling_scratch.utils.errors import DataError

RUN = "--train_file {file} --output_dir {folder}/run"
PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "predict": (predict.main, "--model {folder} --input {file}"),
    "generate": (generate.main, "--model_name_or_path {folder} --input_file {file}"),
    "train-classifier": (train_classifier.main, RUN),
    "train-translation": (train_translation.main, RUN),
    "train-tokens": (train_tokens.main, RUN),
    "train-answers": (train_answers.main, RUN),
    "pretrain": (pretrain.main, f"--objective clm {RUN}"),
    "folder": (train_classifier.main, "--data_dir {folder} --output_dir {folder}/run"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_read_regular_files(tmp_path: Path, capsys: pytest.CaptureFixture, program: str) -> None:
    file = tmp_path / "train.csv"
    os.mkfifo(file)
    main, options = PROGRAMS[program]
    message = refusal(capsys, main, options.format(file=file, folder=tmp_path).split())
    assert f"{file}: not a regular file" in message


def test_the_size_of_a_file_is_bounded(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (file := tmp_path / "train.csv").touch()
    os.truncate(file, 10**10 + 1)  # takes no room on the disk
    for bound, wanted in (("", "10,000,000,000 (--max_file_size 10)"), ("0.002", "2,000,000 (--max_file_size 0.002)")):
        options = f"--data_dir {tmp_path} --output_dir {tmp_path}/run" + (bound and f" --max_file_size {bound}")
        message = refusal(capsys, train_classifier.main, options.split())
        assert f"{file}: 10,000,000,001 bytes; the maximum is {wanted}" in message
    message = refusal(capsys, predict.main, f"--model {tmp_path} --max_file_size nan".split())
    assert "--max_file_size nan: must be above 0" in message


@pytest.mark.parametrize(
    ("make", "told"),
    [(os.mkfifo, "not a regular file"), (lambda path: path.symlink_to(path), "")],
    ids=["pipe", "link"],
)
def test_a_review_may_not_be_a_pipe_or_a_link_to_itself(tmp_path: Path, make: Callable, told: str) -> None:
    for name in ("neg", "pos"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "2.txt").touch()
    make(tmp_path / "neg" / "1.txt")
    with pytest.raises(DataError, match=rf"1\.txt: {told}"):
        list(read_rows(tmp_path))


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


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_text_that_is_a_whole_file_is_refused_with_its_row_and_size(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, {"text": ["ok", "x" * (MAX_FIELD_CHARACTERS + 1)], "label": [0, 1]})
    size = "a text of 10,000,001 characters, of which at most 10,000,000 are read"
    with fault(f"{name}, row 2, column 'text'", size):
        load_splits(DataArguments(train_file=str(path)))
    with fault(f"{name}, row 2, column 'text'", size):
        list(read_texts(path, "text"))
    longest = "x" * MAX_FIELD_CHARACTERS
    (tmp_path / "a.txt").write_text(f"{longest}\r\n{longest}\n{longest}y", newline="")
    with (tmp_path / "a.txt").open("rb") as handle, fault("a.txt, line 3: longer than 10,000,000 characters"):
        for number, text in read_lines(handle, "a.txt"):
            assert text == longest, number
    for document in ("line", "paragraph"):
        with fault("a.txt, line 3: longer than 10,000,000 characters"):
            for text in read_plain_text(tmp_path / "a.txt", document):
                assert text == longest
