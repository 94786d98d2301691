# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Files that mean harm, or never end: refused with a clear error, in a bounded memory, and nothing of them is run."""

import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import generate
import predict
import pretrain
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import train_answers
import train_classifier
import train_tokens
import train_translation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import in_child, refusal
from small_runs import data, made, run, saved
from text_samples import fault, write

from modeling_scratch.data.columns import read_lines, read_texts
from modeling_scratch.data.documents import read_plain_text
from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments, find_splits
from modeling_scratch.data.tables import read_rows
from modeling_scratch.data.text_files import MAX_FIELD_CHARACTERS
from modeling_scratch.run.checkpoints import checkpoints_in, seal
from modeling_scratch.utils.errors import DataError

# ruff: noqa: F401, F811  (the fixtures come from small_runs)

MEGABYTE = 1 << 20
BOUNDED = settings(derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


def pickle_that_runs(command: str) -> bytes:
    """Opcodes that call os.system when they are read by an unpickler that allows it."""
    return f"\x80\x02cposix\nsystem\n(V{command}\ntR.".encode("latin-1")


def as_old(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def as_archive(path: Path, content: bytes) -> None:
    """In the form that torch.save writes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, part in {"data.pkl": content, "byteorder": b"little", "version": b"3\n"}.items():
            archive.writestr(f"archive/{name}", part)


@pytest.mark.parametrize(
    ("name", "form"), [("optimizer.pt", as_old), ("optimizer.pt", as_archive), ("rng_state.pth", as_archive)]
)
def test_a_checkpoint_runs_no_code(
    saved: Path, data: Path, tmp_path: Path, name: str, form: Callable[[Path, bytes], None]
) -> None:
    """Though it is sealed by who made it; what Trainer does not read may stand there, too."""
    victim, output = tmp_path / "victim", shutil.copytree(saved, tmp_path / "run")
    checkpoint = checkpoints_in(output)[-1]
    for file in (name, "training_args.bin", "pytorch_model.bin"):
        form(checkpoint / file, pickle_that_runs(f"touch {victim}"))
    seal(checkpoint)
    ended = run("steps", data, output, extra="--max_steps 8 --save_strategy no --resume_from_checkpoint last")
    assert not victim.exists()
    assert ended.status, ended.text


def write_bomb(path: Path) -> None:
    """250 MB of text in some kB. No group of rows alone is too large."""
    table = pa.table({"text": ["a" * MEGABYTE] * 250})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, row_group_size=100)


def test_a_parquet_file_that_declares_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    assert in_child(lambda: write_bomb(path)).status == 0
    assert path.stat().st_size < MEGABYTE
    with pytest.raises(DataError, match=r"bomb.parquet: expands to more than 256 MB"):
        next(read_rows(path))


def assert_read_or_refused(read: Callable[[Path], Iterator], path: Path) -> None:
    told = path.name
    try:
        for _ in read(path):
            pass
    except DataError as error:
        told = str(error)
    assert path.name in told


@given(st.binary(max_size=300), st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]))
@BOUNDED
def test_readers_take_any_bytes(tmp_path: Path, content: bytes, suffix: str) -> None:
    """As rows, or with an error that names the file."""
    path = tmp_path / f"fuzz{suffix}"
    path.write_bytes(content)
    assert_read_or_refused(read_rows, path)
    assert_read_or_refused(read_texts, path)


@given(st.data())
@BOUNDED
def test_readers_take_parquet_with_any_damage(tmp_path: Path, data: st.DataObject) -> None:
    good, path = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    if not good.exists():
        pq.write_table(pa.table({"text": ["some", "text"] * 40, "label": [0, 1] * 40}), good)
    content = bytearray(good.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    assert_read_or_refused(read_rows, path)


def test_a_link_out_of_the_data_folder_is_refused(tmp_path: Path) -> None:
    """A folder of a stranger may name any file of the user; those of the cache of the Hub name their blobs."""
    folder, link = tmp_path / "models" / "snapshots" / "data", tmp_path / "models" / "snapshots" / "data" / "train.csv"
    secret, blob = tmp_path / "secret.csv", tmp_path / "models" / "blobs" / "abc"
    for path in (folder, blob.parent):
        path.mkdir(parents=True)
    for path in (secret, blob):
        path.write_text("text,label\na,1\n")
    link.symlink_to(secret)
    with pytest.raises(DataError, match=r"a link out of .*--train_file"):
        find_splits(folder)
    link.unlink()
    link.symlink_to(blob)
    assert find_splits(folder) == {"train": [link]}


MODELS: dict[str, dict[str, bytes]] = {
    "tokenizer that is cut off": {"tokenizer.json": b'{"version": "1.0", "truncat'},
    "tokenizer without end": {"tokenizer.json": b"[" * 200_000},
    "tokenizer of no model": {"tokenizer.json": b'{"version": "1.0", "added_tokens": [], "model": 7}'},
    "config that is a list": {"config.json": b"[]"},
}


@pytest.mark.parametrize("changes", MODELS.values(), ids=MODELS)
def test_a_hostile_model_is_refused_in_one_line(
    saved: Path, data: Path, tmp_path: Path, changes: dict[str, bytes]
) -> None:
    folder = shutil.copytree(saved, tmp_path / "model")
    for name, content in changes.items():
        (folder / name).write_bytes(content)
    arguments = f"--model_name_or_path {folder} --data_dir {data}/reviews --output_dir {tmp_path}/run --use_cpu"
    ended = in_child(lambda: train_classifier.main(arguments.split()))
    assert ended.status == 2, ended.text
    assert str(folder) in ended.text.strip().splitlines()[-1]
    assert "Traceback" not in ended.text
    assert not (tmp_path / "run").exists()


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


def test_a_review_may_not_be_a_pipe_or_a_link_to_itself(tmp_path: Path) -> None:
    for name in ("neg", "pos"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "2.txt").touch()
    for make, told in ((os.mkfifo, "not a regular file"), (lambda path: path.symlink_to(path), "")):
        make(review := tmp_path / "neg" / "1.txt")
        with fault(f"1.txt: {told}"):
            list(read_rows(tmp_path))
        review.unlink()


@pytest.mark.parametrize("name", ["file.csv", "file.jsonl"])
def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path, name: str) -> None:
    (path := tmp_path / name).touch()
    os.truncate(path, 2**33)
    with fault(f"{name}, line 1: longer than 40,000,000 characters"):
        list(read_rows(path))
    with Path("/dev/zero").open("rb") as handle, fault("--input -, line 1: longer than"):
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
