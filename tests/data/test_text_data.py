# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Splits: what is left out, held out, sampled and warned of."""

from collections import Counter
from pathlib import Path

import pytest
from text_samples import fault, load, read, reviews, write

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_gaps_are_left_out_and_counted(tmp_path: Path, suffix: str) -> None:
    columns = reviews(20)
    for row, gap in ((2, ""), (5, " \n "), (7, None)):
        columns["text"][row] = gap
    columns["label"][9] = None
    if suffix == ".parquet":  # as pandas has integers beside gaps
        columns["label"] = [float("nan") if label is None else float(label) for label in columns["label"]]
    if suffix == ".csv":
        columns = {name: ["" if value is None else value for value in values] for name, values in columns.items()}
    write(tmp_path / f"train{suffix}", columns)
    write(tmp_path / f"validation{suffix}", reviews(4, 100))
    data = load(tmp_path)
    kept = [row for row in range(20) if row not in (2, 5, 7, 9)]
    assert data.splits["train"].to_dict() == {
        "text": [f"review number {row}" for row in kept],
        "label": [row % 2 for row in kept],
    }
    file = f"train{suffix}"
    assert f"train: dropped 3 rows without a text, first {file}, row 3; {file}, row 6; {file}, row 8" in data.notes
    assert f"train: dropped 1 row without a label, first {file}, row 10" in data.notes


def test_each_text_says_the_file_and_the_row_that_it_was_read_from(tmp_path: Path) -> None:
    columns = reviews(60)
    columns["text"][10] = ""
    write(tmp_path / "train.csv", columns)
    write(tmp_path / "test.csv", reviews(30, 100))
    data = load(tmp_path, max_train_samples=20, max_eval_samples=10)
    files = {"train": "train.csv", "validation": "train.csv", "test": "test.csv"}
    rows = {name: read(tmp_path / name) for name in files.values()}
    for split, name in files.items():
        places = data.places_of(split)
        assert len(places) == len(data.splits[split]) > 5
        for text, place in zip(data.texts(split), places):
            file, _, row = place.partition(", row ")
            assert (file, rows[file][int(row) - 1]["text"]) == (name, text)


def test_a_split_of_gaps_only_is_refused(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", reviews(20))
    validation = write(tmp_path / "validation.csv", {"text": ["", " "], "label": [0, 1]})
    with fault("validation split", "no row"):
        load_splits(DataArguments(train_file=str(train), validation_file=str(validation)))


def test_texts_that_differ_by_case_and_blanks_are_counted_and_held_out_together(tmp_path: Path) -> None:
    columns = reviews(40)
    variants = [f" Review\u3000NUMBER {row}" for row in range(40)]
    write(tmp_path / "train.csv", columns)
    write(tmp_path / "validation.csv", reviews(10, 100))
    write(tmp_path / "test.csv", {"text": [*columns["text"][:3], *variants[3:8], "new"], "label": [0, 1] * 4 + [0]})
    data = load(tmp_path)
    (warning,) = data.warnings
    assert warning.startswith("test: 8 of its 9 texts also occur in train")
    assert data.splits["test"].num_rows == 9
    assert f"WARNING: {warning}" in data.describe().splitlines()
    for split in ("validation", "test"):
        (tmp_path / f"{split}.csv").unlink()
    write(tmp_path / "train.csv", {"text": columns["text"] + variants, "label": columns["label"] * 2})
    data = load(tmp_path)
    assert {split: rows.num_rows for split, rows in data.splits.items()}["train"] < 70
    assert data.warnings == []


def test_texts_with_different_labels_are_listed(tmp_path: Path) -> None:
    texts = [f"text {row}" for row in range(20)] + ["text 3", "text 3", "text 5"]
    write(tmp_path / "train.csv", {"text": texts, "label": ["a", "b"] * 10 + ["a", "b", "b"]})
    write(tmp_path / "validation.csv", {"text": ["text 4", "new"], "label": ["b", "b"]})
    (warning,) = [warning for warning in load(tmp_path).warnings if "different labels" in warning]
    assert warning.startswith("2 texts with different labels, all kept")
    assert "train.csv, row 4: 'b'; train.csv, row 21: 'a'" in warning
    assert "train.csv, row 5: 'a'; validation.csv, row 1: 'b'" in warning
    assert "row 23" not in warning


@pytest.mark.parametrize("has_test", [True, False])
def test_missing_splits_are_held_out_of_train(tmp_path: Path, has_test: bool) -> None:
    columns = {"text": [f"text {row}" for row in range(400)], "label": [int(row % 4 == 0) for row in range(400)]}
    write(tmp_path / "train.parquet", columns)
    if has_test:
        write(tmp_path / "test.parquet", reviews(10))
    data, again, other = load(tmp_path), load(tmp_path), load(tmp_path, split_seed=1)
    held_out = ["validation"] if has_test else ["validation", "test"]
    for split in held_out:
        assert Counter(data.splits[split]["label"]) == {0: 30, 1: 10}
        assert any(note.startswith(f"{split}: not in the data; 40 rows held out") for note in data.notes)
        assert data.splits[split].to_dict() == again.splits[split].to_dict() != other.splits[split].to_dict()
    parts = [data.splits[split] for split in ("train", *held_out)]
    assert sorted(text for part in parts for text in part["text"]) == sorted(columns["text"])
    assert data.warnings == []


def test_too_little_to_hold_out_is_said(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", reviews(2))
    with fault("2 different rows are too few", "validation and test", "validation file"):
        load(tmp_path)
    write(tmp_path / "train.csv", {"text": [f"text {row}" for row in range(11)], "label": ["rare", *"aaaaabbbbb"]})
    with fault("leaves train without a text of 'rare'", "--drop_labels"):
        load(tmp_path, validation_fraction=0.4)
