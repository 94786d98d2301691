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


ONE, SEVERAL, NUMBER = "single_label_classification", "multi_label_classification", "regression"
TEXTS_TOLD, LISTS_TOLD = "are read as texts", "the labels are lists"
TOLD_BY_LABELS = [
    (".jsonl", SETS, SEVERAL, ["a", "b", "c"], LISTS_TOLD),
    (".parquet", SETS, SEVERAL, ["a", "b", "c"], LISTS_TOLD),
    (".csv", [str(labels) for labels in SETS], SEVERAL, ["a", "b", "c"], LISTS_TOLD),  # as pandas writes lists
    (".csv", ["[0 1]", "[1. 1.]"], SEVERAL, None, LISTS_TOLD),
    (".csv", ["[1]", "[2 1]"], SEVERAL, ["1", "2"], LISTS_TOLD),
    (".csv", ["[a]", "[]", "[b]"], SEVERAL, ["a", "b"], LISTS_TOLD),
    (".csv", ["[POS]", "[don't know]"], ONE, ["[POS]", "[don't know]"], None),  # no list
    (".csv", ["a|b", "b|a", "a|c", "c", "b", "c|b|a"], ONE, None, "--label_separator '|'"),
    (".csv", ["a, b", "b, a", "a", "c, a", "b", "b, c"], ONE, None, "--label_separator ','"),
    (".csv", ["Home, Garden", "Books", "Toys"], ONE, ["Books", "Home, Garden", "Toys"], None),
    (".csv", ["1", "2.5"], NUMBER, ["label"], "some labels are fractions"),
    (".parquet", [1.0, 2.5], NUMBER, ["label"], "some labels are fractions"),
    (".csv", ["4,5", "3", "2,05"], NUMBER, ["label"], "decimal commas"),
    (".csv", ["1,5", "2", "3"], ONE, ["2", "3", "1,5"], TEXTS_TOLD),  # could be sets
    (".csv", ["1,234", "2,500", "3,100"], ONE, ["1,234", "2,500", "3,100"], None),  # could be thousands
    (".csv", ["1", "2", "3", "4", "5"], ONE, ["1", "2", "3", "4", "5"], "--problem_type regression predicts"),
    (".parquet", [1.0, 2.0], ONE, ["1", "2"], None),
    (".csv", ["1.0", "2.0", "4.0"], ONE, ["1", "2", "4"], None),
    (".csv", ["1.1", "1.10", "2.10"], ONE, ["1.1", "1.10", "2.10"], TEXTS_TOLD),
    (".jsonl", ["v1", "v1.0", "1", "1.0", "2"], ONE, ["1", "1.0", "2", "v1", "v1.0"], TEXTS_TOLD),
    (".jsonl", ["beta", "1.0", "2.5"], ONE, ["1.0", "2.5", "beta"], TEXTS_TOLD),
    (
        ".jsonl",
        [1, "1", True, 0],
        ONE,
        ["0", "1", "True"],
        'types in one column: 1 (6 rows), "1" (6 rows',
    ),
    (".jsonl", [1, "0", "n/a"], ONE, None, "'n/a' (6 rows); if they are, add --drop_labels"),
    (".jsonl", [True, False], ONE, ["False", "True"], None),
]


@pytest.mark.parametrize(("suffix", "labels", "problem_type", "names", "told"), TOLD_BY_LABELS)
def test_the_labels_tell_the_problem_type(
    tmp_path: Path, suffix: str, labels: list, problem_type: str, names: list[str] | None, told: str | None
) -> None:
    file_of(tmp_path, suffix, labels * 6)
    data = load(tmp_path)
    assert (data.problem_type, data.label_names) == (problem_type, names or data.label_names)
    found = [
        note for note in [*data.notes, *data.warnings] if "problem" in note or "probably" in note or "--label" in note
    ]
    assert any(told in note for note in [*data.notes, *data.warnings]) if told else found == []
    if "," in str(labels[0]) and problem_type == NUMBER:
        assert {*data.labels("train")} == {float(label.replace(",", ".")) for label in labels}


@pytest.mark.parametrize(
    ("suffix", "labels", "arguments", "names"),
    [
        (".csv", JOINED, {"label_separator": "|"}, ["a", "b", "c"]),
        (".csv", ["1", "2"] * 6, {"problem_type": NUMBER}, ["label"]),
        (".csv", ["1.5", "2.10", "3.5"] * 4, {"problem_type": ONE}, ["1.5", "2.10", "3.5"]),
        (".jsonl", [["a"], ["b"]] * 6, {"problem_type": ONE}, ["a", "b"]),
    ],
)
def test_an_option_tells_the_problem_type(
    tmp_path: Path, suffix: str, labels: list, arguments: dict, names: list[str]
) -> None:
    file_of(tmp_path, suffix, labels)
    data = load(tmp_path, **arguments)
    assert (data.problem_type, data.label_names) == (arguments.get("problem_type", SEVERAL), names)


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
        ([{"choices": ["a", "b"]}, "b"] * 6, {}, ["row 1", "is not a list of labels; write it as"]),
    ],
)
def test_labels_of_another_type_are_refused(tmp_path: Path, labels: list, arguments: dict, pieces: list) -> None:
    write(tmp_path / "train.jsonl", {"text": TEXTS, "label": labels})
    with fault(*pieces):
        load(tmp_path, label_column="label", **arguments)


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


def test_fractions_that_are_texts_of_a_sheet_are_classes(tmp_path: Path) -> None:
    for name, labels in {"texts": ["1.5", "2.10", "3.5"], "numbers": [1.5, 2.1, 3.5]}.items():
        table = pd.DataFrame({"text": [f"text {row}" for row in range(18)], "label": labels * 6})
        table.to_excel(tmp_path / f"{name}.xlsx", index=False)
        data = load_splits(DataArguments(train_file=str(tmp_path / f"{name}.xlsx")))
        assert data.label_names == (labels if name == "texts" else ["label"])
