# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Types of labels: what is inferred, how sets of classes and numbers are read, held out and refused."""

import random
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
from text_samples import fault, load, write

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments

TEXTS = [f"text number {row}" for row in range(12)]
SETS = [["b", "a"], [], ["a"], ["b"], ["c", "c"], ["a", "b"]] * 2
JOINED = ["b|a", "", "a", " b | ", "c", "a|b"] * 2


def file_of(folder: Path, suffix: str, labels: list) -> None:
    texts = [f"text number {row}" for row in range(len(labels))]
    for split, more in (("train", ""), ("validation", "!"), ("test", "?")):
        write(folder / f"{split}{suffix}", {"text": [text + more for text in texts], "label": labels})


@pytest.mark.parametrize(
    ("suffix", "labels", "arguments", "problem_type"),
    [
        (".jsonl", SETS, {}, "multi_label_classification"),
        (".parquet", SETS, {}, "multi_label_classification"),
        (".csv", JOINED, {"label_separator": "|"}, "multi_label_classification"),
        (".csv", ["1", "2.5"] * 6, {}, "regression"),
        (".parquet", [1.0, 2.5] * 6, {}, "regression"),
        (".csv", ["1", "2"] * 6, {}, "single_label_classification"),
        (".parquet", [1.0, 2.0] * 6, {}, "single_label_classification"),
        (".csv", ["1", "2"] * 6, {"problem_type": "regression"}, "regression"),
        (".csv", ["a|b", "c"] * 6, {}, "single_label_classification"),
        (".csv", [str(labels) for labels in SETS], {}, "multi_label_classification"),  # as pandas writes lists
        (".csv", ["[0 1]", "[1. 1.]"] * 6, {}, "multi_label_classification"),
        (".csv", ["[POS]", "[don't know]"] * 6, {}, "single_label_classification"),  # no list
        (".csv", ["[1]", "[2 1]"] * 6, {}, "multi_label_classification"),
        (".csv", ["[a]", "[]", "[b]"] * 4, {}, "multi_label_classification"),
        (
            ".csv",
            ['{"choices": ["a", "b"]}', '{"choices": ["b"]}'] * 6,
            {},
            "multi_label_classification",
        ),  # Label Studio
        (".jsonl", [["a"], ["b"]] * 6, {"problem_type": "single_label_classification"}, "single_label_classification"),
    ],
)
def test_the_labels_tell_the_problem_type(
    tmp_path: Path, suffix: str, labels: list, arguments: dict, problem_type: str
) -> None:
    file_of(tmp_path, suffix, labels)
    data = load(tmp_path, **arguments)
    assert data.problem_type == problem_type
    is_told = any(note.startswith(f"problem type: {problem_type}") for note in data.notes)
    assert is_told == (problem_type != "single_label_classification" and "problem_type" not in arguments)


@pytest.mark.parametrize(
    ("labels", "separator"),
    [
        (["a|b", "b|a", "a|c", "c", "b", "c|b|a"] * 2, "'|'"),
        (["a, b", "b, a", "a", "c, a", "b", "b, c"] * 2, "','"),
        (["Home, Garden", "Books", "Toys", "Home, Garden", "Books", "Toys"] * 2, None),
        (["a", "b"] * 6, None),
    ],
)
def test_a_warning_says_where_classes_look_like_lists(tmp_path: Path, labels: list[str], separator: str | None) -> None:
    file_of(tmp_path, ".csv", labels)
    warnings = [warning for warning in load(tmp_path).warnings if "--label_separator" in warning]
    assert [warning.rpartition("--label_separator ")[2] for warning in warnings] == ([separator] if separator else [])


CATS = [{name: float(name in names) for name in "abc"} for names in SETS]  # of spaCy


@pytest.mark.parametrize(("suffix", "labels"), [(".jsonl", SETS), (".csv", JOINED), (".jsonl", CATS)])
def test_sets_of_classes_are_rows_of_zeros_and_ones(tmp_path: Path, suffix: str, labels: list) -> None:
    """An empty list is a text without a label, and is kept. The order of a list, and repetitions, do not count."""
    file_of(tmp_path, suffix, labels)
    data = load(tmp_path, label_separator="|")
    assert data.label_names == ["a", "b", "c"]
    assert data.labels("train").tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]] * 2
    assert "train: 12 rows (a 6, b 6, c 2; 2 without a label)" in data.describe()


def test_lists_of_a_data_set_with_declared_classes_have_their_names(tmp_path: Path) -> None:
    """As the Hub's Parquet files declare them, in this order; a class may be unused."""
    features = datasets.Features(
        {"text": datasets.Value("string"), "labels": datasets.List(datasets.ClassLabel(names=["joy", "fear", "awe"]))}
    )
    rows = datasets.Dataset.from_dict({"text": TEXTS, "labels": [[0, 1], [], [1]] * 4}, features=features)
    for split in ("train", "validation"):
        rows.to_parquet(tmp_path / f"{split}.parquet")
    data = load(tmp_path)
    assert data.label_names == ["joy", "fear", "awe"]
    assert data.labels("train")[:3].tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("names", [None, ["joy", "fear", "awe"]])
def test_lists_of_zeros_and_ones_have_a_class_for_each(tmp_path: Path, names: list[str] | None) -> None:
    """A class may be unused in train. Other lists are refused."""
    file_of(tmp_path, ".jsonl", [[1, 0, 0], [0, 0, 1]] * 6)
    write(tmp_path / "test.jsonl", {"text": ["new"], "label": [[0, 1, 0]]})
    data = load(tmp_path, class_names=names)
    assert data.label_names == (names or ["0", "1", "2"])
    assert data.labels("train")[:2].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert data.labels("test").tolist() == [[0, 1, 0]]
    for wrong in (["joy"], [1, 0], [1, 0, 2]):
        write(tmp_path / "test.jsonl", {"text": ["new"], "label": [wrong]})
        with fault("test.jsonl, row 1, column 'label'", f"{wrong} is not a list of 3 times 0 or 1"):
            load(tmp_path)


def test_numbers_are_read_with_placeholders_as_gaps(tmp_path: Path) -> None:
    file_of(tmp_path, ".csv", ["-1.5", "2", "1e1", "", "0", "0", "N/A", "-1.5"] * 3)
    data = load(tmp_path)
    assert data.labels("train").tolist() == [-1.5, 2, 10, 0, 0, -1.5] * 3
    assert data.label_names == ["label"]
    assert "train: 18 rows (label: mean 1.5, from -1.5 to 10)" in data.describe()
    assert any(note.startswith("train: dropped 6 rows without a label, first train.csv, row 4;") for note in data.notes)
    for option in ("label_map", "drop_labels"):
        with fault("--label_map and --drop_labels: the labels are numbers"):
            load(tmp_path, **{option: ["0=2"]})


def test_ratings_are_classes_with_a_note(tmp_path: Path) -> None:
    file_of(tmp_path, ".csv", ["1", "2", "3", "4", "5"] * 4)
    assert any("if they are ratings, --problem_type regression predicts" in note for note in load(tmp_path).notes)


@pytest.mark.parametrize(
    ("labels", "arguments", "pieces"),
    [
        ([0.5, "x"] * 6, {"problem_type": "regression"}, ["train.jsonl, row 2", "'x'", "not a finite number"]),
        ([0.5, True] * 6, {"problem_type": "regression"}, ["row 2", "True"]),
        ([[1], [2]] * 6, {"problem_type": "regression"}, ["row 1", "[1] is not a finite number"]),
        ([3, 3.0] * 6, {"problem_type": "regression"}, ["only one label, 3.0"]),
        ([0.5, 1] * 6, {"class_names": ["a", "b"]}, ["--class_names a b", "one number"]),
        (["a", "b"] * 6, {"problem_type": "multi_label_classification"}, ["row 1", "'a'", "--label_separator"]),
        ([["a", None], ["b"]] * 6, {}, ["row 1", "empty label"]),
        ([[]] * 12, {}, ["the train split has no label"]),
        ([["a"], []] * 6, {}, ["only one label, 'a'"]),
        ([["a", "b"], ["b"]] * 6, {"problem_type": "single_label_classification"}, ["row 1", "list", "--problem_type"]),
        ([{"choices": ["a", "b"]}, "b"] * 6, {}, ["row 2", "'b' is not a list of labels; write it as"]),
    ],
)
def test_labels_of_another_type_are_refused(tmp_path: Path, labels: list, arguments: dict, pieces: list) -> None:
    write(tmp_path / "train.jsonl", {"text": TEXTS, "label": labels})
    with fault(*pieces):
        load(tmp_path, label_column="label", **arguments)


def test_a_class_that_train_does_not_have_is_named(tmp_path: Path) -> None:
    file_of(tmp_path, ".jsonl", SETS)
    write(tmp_path / "test.jsonl", {"text": ["new", "newer"], "label": [["a"], ["a", "z"]]})
    with fault("test.jsonl, row 2", "'z'", "does not occur in train"):
        load(tmp_path)


def test_what_is_held_out_resembles_the_rest(tmp_path: Path) -> None:
    """Each class has its share of the held-out rows, also where no two rows have the same set; so have numbers."""
    drawn = random.Random(0)
    sets = [[name for name in "abcdefgh" if drawn.random() < 0.4] for _ in range(400)]
    write(tmp_path / "sets" / "train.jsonl", {"text": [f"text {row}" for row in range(400)], "label": sets})
    data = load(tmp_path / "sets", validation_fraction=0.25)
    shares = [data.labels(split).mean(0) for split in ("train", "validation", "test")]
    assert np.abs(shares[1] - shares[0]).max() < 0.1 > np.abs(shares[2] - shares[0]).max()
    numbers = [round(drawn.expovariate(0.1), 3) for _ in range(400)]
    write(tmp_path / "numbers" / "train.jsonl", {"text": [f"text {row}" for row in range(400)], "label": numbers})
    data = load(tmp_path / "numbers", validation_fraction=0.25)
    medians = [float(np.median(data.labels(split))) for split in ("train", "validation", "test")]
    assert max(medians) - min(medians) < 1.5


def test_digests_tell_labels_apart(tmp_path: Path) -> None:
    file_of(tmp_path / "a", ".jsonl", SETS)
    file_of(tmp_path / "b", ".jsonl", [["a", "b"], *SETS[1:]])
    file_of(tmp_path / "c", ".jsonl", [["a"], *SETS[1:]])
    digests = [load(tmp_path / name).digests() for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("labels", "names", "options", "is_told"),
    [
        (["1.1", "1.10", "2.10"], ["1.1", "1.10", "2.10"], {}, True),
        (["v1", "v1.0", "1", "1.0", "2"], ["1", "1.0", "2", "v1", "v1.0"], {}, True),
        (["1.5", "2.10", "3.5"], ["1.5", "2.10", "3.5"], {"problem_type": "single_label_classification"}, False),
        (["1.0", "2.0", "3.0"], ["1", "2", "3"], {}, False),
        (["beta", "1.0", "2.5"], ["1.0", "2.5", "beta"], {}, True),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_labels_that_no_number_spells_are_texts(
    tmp_path: Path, suffix: str, labels: list, names: list, options: dict, is_told: bool
) -> None:
    file_of(tmp_path, suffix, labels * 5)
    data = load(tmp_path, **options)
    assert data.label_names == names
    assert any("are read as texts" in note for note in data.notes) == is_told


@pytest.mark.parametrize(
    ("labels", "problem_type"),
    [
        (["4,5", "3,0", "2,5"], "regression"),
        (["4,5", "3", "2,05"], "regression"),
        (["1,5", "2,5", "3,5"], "regression"),
        (["1,5", "2", "3"], "single_label_classification"),  # could be sets
        (["1,234", "2,500", "3,100"], "single_label_classification"),  # could be thousands
    ],
)
def test_decimal_commas_are_those_of_numbers(tmp_path: Path, labels: list, problem_type: str) -> None:
    file_of(tmp_path, ".csv", labels * 6)
    data = load(tmp_path)
    assert data.problem_type == problem_type
    if problem_type == "regression":
        assert {*data.labels("train")} == {float(label.replace(",", ".")) for label in labels}
        assert any("decimal commas" in note for note in data.notes)


def test_fractions_that_are_texts_of_a_sheet_are_classes(tmp_path: Path) -> None:
    for name, labels in {"texts": ["1.5", "2.10", "3.5"], "numbers": [1.5, 2.1, 3.5]}.items():
        table = pd.DataFrame({"text": [f"text {row}" for row in range(18)], "label": labels * 6})
        table.to_excel(tmp_path / f"{name}.xlsx", index=False)
        data = load_splits(DataArguments(train_file=str(tmp_path / f"{name}.xlsx")))
        assert data.label_names == (labels if name == "texts" else ["label"])


@pytest.mark.parametrize(
    ("labels", "is_told"),
    [([1, "1", True, 0], True), ([1, "0", "n/a"], False), ([1.0, 2], False), ([True, False], False)],
)
def test_labels_of_several_types_are_told(tmp_path: Path, labels: list, is_told: bool) -> None:
    file_of(tmp_path, ".jsonl", labels * 6)
    told = [warning for warning in load(tmp_path).warnings if "several types" in warning]
    assert told == [warning for warning in told if '1 (6 rows), "1" (6 rows), true (6 rows)' in warning]
    assert len(told) == is_told
