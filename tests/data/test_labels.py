# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels: the types that are inferred, spellings of one label, and what is refused."""

import random
import shlex
from collections import Counter
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
from text_samples import fault, load, reviews, write

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.labels import proposed_label_map
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
    (".jsonl", [1, "1", True, 0], ONE, ["0", "1", "True"], 'types in one column: 1 (6 rows), "1" (6 rows'),
    (".jsonl", [1, "0", "n/a"], ONE, None, "'n/a' (6 rows); if they are, add --drop_labels"),
    (".jsonl", [True, False], ONE, ["False", "True"], None),
]
TOLD_BY_OPTIONS = [
    (".csv", JOINED, SEVERAL, ["a", "b", "c"], "as --label_separator '|' is given", {"label_separator": "|"}),
    (".csv", ["1", "2"], NUMBER, ["label"], None, {"problem_type": NUMBER}),
    (".csv", ["1.5", "2.10", "3.5"], ONE, ["1.5", "2.10", "3.5"], None, {"problem_type": ONE}),
    (".jsonl", [["a"], ["b"]], ONE, ["a", "b"], None, {"problem_type": ONE}),
]
TOLD = [*((*row, {}) for row in TOLD_BY_LABELS), *TOLD_BY_OPTIONS]


@pytest.mark.parametrize(("suffix", "labels", "problem_type", "names", "told", "options"), TOLD, ids=range(len(TOLD)))
def test_the_labels_or_an_option_tell_the_problem_type(
    tmp_path: Path, suffix: str, labels: list, problem_type: str, names: list | None, told: str | None, options: dict
) -> None:
    file_of(tmp_path, suffix, labels * 6)
    data = load(tmp_path, **options)
    assert (data.problem_type, data.label_names) == (problem_type, names or data.label_names)
    notes = [*data.notes, *data.warnings]
    found = [note for note in notes if "problem" in note or "probably" in note or "--label" in note]
    assert any(told in note for note in notes) if told else found == []
    if "," in str(labels[0]) and problem_type == NUMBER:
        assert {*data.labels("train")} == {float(label.replace(",", ".")) for label in labels}


@pytest.mark.parametrize(("suffix", "labels"), [(".jsonl", SETS), (".csv", JOINED)])
def test_sets_of_classes_are_rows_of_zeros_and_ones(tmp_path: Path, suffix: str, labels: list) -> None:
    """An empty list is a text without a label, and is kept. The order of a list, and repetitions, do not count."""
    file_of(tmp_path, suffix, labels)
    data = load(tmp_path, label_separator="|")
    assert data.label_names == ["a", "b", "c"]
    assert data.labels("train").tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]] * 2
    assert "train: 12 rows (a 6, b 6, c 2; 2 without a label)" in data.describe()


def test_lists_of_a_data_set_with_declared_classes_have_their_names(tmp_path: Path) -> None:
    """As the Hub's Parquet files declare them, in this order; a class may be unused."""
    names = ["joy", "fear", "awe"]
    features = {"text": datasets.Value("string"), "labels": datasets.List(datasets.ClassLabel(names=names))}
    columns = {"text": TEXTS, "labels": [[0, 1], [], [1]] * 4}
    rows = datasets.Dataset.from_dict(columns, features=datasets.Features(features))
    for split in ("train", "validation"):
        rows.to_parquet(tmp_path / f"{split}.parquet")
    data = load(tmp_path)
    assert data.label_names == names
    assert data.labels("train")[:3].tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_lists_of_zeros_and_ones_have_a_class_for_each(tmp_path: Path) -> None:
    """A class may be unused in train. Other lists are refused."""
    file_of(tmp_path, ".jsonl", [[1, 0, 0], [0, 0, 1]] * 6)
    write(tmp_path / "test.jsonl", {"text": ["new"], "label": [[0, 1, 0]]})
    for given in (None, ["joy", "fear", "awe"]):
        data = load(tmp_path, class_names=given)
        assert data.label_names == (given or ["0", "1", "2"])
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
        ([0.5, "x"] * 6, {"problem_type": NUMBER}, ["train.jsonl, row 2", "'x'", "not a finite number"]),
        ([0.5, True] * 6, {"problem_type": NUMBER}, ["row 2", "True"]),
        ([[1], [2]] * 6, {"problem_type": NUMBER}, ["row 1", "[1] is not a finite number"]),
        ([3, 3.0] * 6, {"problem_type": NUMBER}, ["only one label, 3.0"]),
        ([0.5, 1] * 6, {"class_names": ["a", "b"]}, ["--class_names a b", "one number"]),
        (["a", "b"] * 6, {"problem_type": SEVERAL}, ["row 1", "'a'", "--label_separator"]),
        ([["a", None], ["b"]] * 6, {}, ["row 1", "empty label"]),
        ([[]] * 12, {}, ["the train split has no label"]),
        ([["a"], []] * 6, {}, ["only one label, 'a'"]),
        ([["a", "b"], ["b"]] * 6, {"problem_type": ONE}, ["row 1", "list ['a', 'b'] is not a label", "--problem_type"]),
        ([{"choices": ["a", "b"]}, "b"] * 6, {}, ["row 1", "dict", "is not a label of a class"]),
        ([0.5, 1.0] * 6, {"problem_type": ONE}, ["row 1, column 'label'", "float 0.5 is not a label"]),
        (TEXTS, {}, ["12 rows", "12 different labels", "wrong column", "--label_column"]),
        ([row % 1_001 for row in range(2_002)], {}, ["2002 rows", "1001 different labels"]),
        ([0, 1, 2] * 4, {"class_names": ["a", "b"]}, ["--class_names a b", "0, 1, 2"]),
        ([0, 1] * 6, {"class_names": ["a", "a"]}, ["--class_names a a", "0, 1"]),
        (["x", "y"] * 6, {"class_names": ["x", "z"]}, ["--class_names x z", "x, y"]),
    ],
    ids=range(17),
)
def test_labels_that_do_not_fit_are_refused(tmp_path: Path, labels: list, arguments: dict, pieces: list) -> None:
    write(tmp_path / "train.jsonl", {"text": [f"t{row}" for row in range(len(labels))], "label": labels})
    with fault(*pieces):
        load(tmp_path, label_column="label", **arguments)


def test_what_is_held_out_resembles_the_rest(tmp_path: Path) -> None:
    """Each class has its share of the held-out rows, also where no two rows have the same set; so have numbers."""
    drawn = random.Random(0)
    sets = [[name for name in "abcdefgh" if drawn.random() < 0.4] for _ in range(400)]
    numbers = [round(drawn.expovariate(0.1), 3) for _ in range(400)]
    for labels, of, most in ((sets, lambda labels: labels.mean(0), 0.1), (numbers, np.median, 1.5)):
        write(tmp_path / "train.jsonl", {"text": [f"text {row}" for row in range(400)], "label": labels})
        data = load(tmp_path, validation_fraction=0.25)
        found = [of(data.labels(split)) for split in ("train", "validation", "test")]
        assert np.ptp(found, axis=0).max() < most


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


ALIKE = {
    "blanks": ("very good", " very  good\t"),
    "a no-break space": ("very good", "very\u00a0good"),
    "a zero-width space": ("pos", "p\u200bos"),
    "a byte order mark": ("pos", "\ufeffpos"),
    "a soft hyphen": ("pos", "po\u00ads"),
    "Unicode normalisation": ("caf\u00e9", "cafe\u0301"),
    "a soft hyphen before an accent": ("caf\u00e9", "cafe\u00ad\u0301"),
}


@pytest.mark.parametrize(("label", "variant"), ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_spellings_of_a_label_are_one_class(tmp_path: Path, label: str, variant: str, suffix: str) -> None:
    write(
        tmp_path / f"train{suffix}", {"text": reviews(20)["text"], "label": [variant, "neg", label, "neg", label] * 4}
    )
    write(tmp_path / f"validation{suffix}", {"text": ["new", "other"], "label": ["neg", variant]})
    data = load(tmp_path)
    names = {split: [data.label_names[number] for number in rows["label"]] for split, rows in data.splits.items()}
    assert names == {"train": [label, "neg", label, "neg", label] * 4, "validation": ["neg", label]}


def test_variants_of_a_label_are_proposed() -> None:
    """Those that differ by case, by compatibility characters, and by blanks or hyphens between letters."""
    counts = {
        "billing": 400,
        "Billing": 40,
        "Biling": 2,
        "login": 9,
        "log in": 8,
        "LOG-IN": 4,
        "topic 1": 5,
        "topic1": 4,
    }
    assert proposed_label_map(counts | {"=billing": 1, "A-": 2, "A": 9, "x2": 5, "x\u00b2": 4, 7: 3}) == {
        "Billing": "billing",
        **dict.fromkeys(["log in", "LOG-IN"], "login"),
        "x\u00b2": "x2",
    }


def write_tickets(folder: Path) -> None:
    labels = ["billing"] * 40 + ["login"] * 20 + ["BILLING", "log in", "logins"]
    write(folder / "train.csv", {"text": reviews(len(labels))["text"], "label": labels})
    write(folder / "validation.csv", {"text": ["new", "other"], "label": ["login", "billing"]})


def test_the_proposed_map_is_taken(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    alike, small, *others = load(tmp_path).warnings
    assert "'BILLING' (1 row) of 'billing' (40 rows)" in alike
    listed = "can hardly be learned: 'logins' (1, like 'login')"
    small_told = f"classes with fewer than 5 rows {listed}; add rows, or read misspelt ones as others by"
    absent = "validation: has no text of 'BILLING', 'log in', 'logins', which its scores do not cover"
    assert (small, others) == (f"{small_told} --label_map logins=login", [absent])
    _, _, options = alike.partition("--label_map ")
    data = load(tmp_path, label_map=shlex.split(options))
    assert data.label_names == ["billing", "login", "logins"]
    assert Counter(data.splits["train"]["label"]) == {0: 41, 1: 21, 2: 1}
    both = "'BILLING' (1 row) as 'billing', 'log in' (1 row) as 'login'"
    assert f"train: labels that are read as others: {both}" in data.notes
    assert [warning for warning in data.warnings if "one class" in warning] == []


def test_labels_of_other_splits_are_mapped_from_a_table_and_others_are_named(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    write(tmp_path / "validation.csv", {"text": ["new", "other"], "label": ["logni", "Bill ing"]})
    with fault("validation.csv, row 1", "'logni' does not occur in train (nor do 'Bill ing')", "did you mean 'login'?"):
        load(tmp_path)
    path = tmp_path / "map.csv"
    path.write_text('source,target\nlogni,login\n"Bill  ing",billing\n')
    data = load(tmp_path, label_map=[str(path), "logins=billing"])
    assert [data.label_names[label] for label in data.splits["validation"]["label"]] == ["login", "billing"]
    assert "logins" not in data.label_names
    with fault("--label_map: no row has the label 'BILING'", "did you mean 'BILLING'?"):
        load(tmp_path, label_map=[str(path), "BILING=billing"])
    for lines, told in (("source,target\nlogni,\n", "a label on each side"), ("from,to\na,b\n", "no column 'source'")):
        path.write_text(lines)
        with fault("map.csv, row 1", told):
            load(tmp_path, label_map=[str(path)])


def test_labels_that_mean_none_are_told_and_left_out(tmp_path: Path) -> None:
    labels = ["billing"] * 40 + ["login"] * 20 + ["N/A"] * 6
    write(tmp_path / "train.csv", {"text": reviews(len(labels))["text"], "label": labels})
    write(tmp_path / "validation.csv", {"text": ["new", "old", "none"], "label": ["login", "billing", "n/a "]})
    with fault("'n/a' does not occur in train", "--label_map n/a=...)", "--drop_labels"):
        load(tmp_path)
    data = load(tmp_path, label_map=["n/a=N/A"])
    assert any(warning.endswith("if they are, add --drop_labels N/A") for warning in data.warnings)
    for options in ({"drop_labels": ["N/A", "n/a"]}, {"drop_labels": ["N/A"], "label_map": ["n/a=N/A"]}):
        data = load(tmp_path, **options)
        assert (data.label_names, data.splits.num_rows) == (["billing", "login"], {"train": 60, "validation": 2})
        assert "train: labels that are left out (--drop_labels): 'N/A' (6 rows)" in data.notes
        assert data.warnings == []
    with fault("--drop_labels: no row has the label 'NA'", "did you mean 'N/A'?"):
        load(tmp_path, drop_labels=["NA", "N/A", "n/a"])


@pytest.mark.parametrize(
    ("options", "names", "rows"),
    [
        ({"drop_labels": ["none"]}, ["a", "b"], 20),
        ({"label_map": ["a=0", "b=1", "none=1"]}, ["NEGATIVE", "POSITIVE"], 30),
    ],
)
def test_declared_classes_are_mapped_and_left_out(tmp_path: Path, options: dict, names: list, rows: int) -> None:
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["a", "none", "b"])}
    columns = {"text": reviews(30)["text"], "label": [0, 1, 2] * 10}
    declared = datasets.Dataset.from_dict(columns, features=datasets.Features(features))
    declared.to_parquet(tmp_path / "train.parquet")
    data = load(tmp_path, validation_fraction=0.2, **options)
    assert (data.label_names, sum(data.splits.num_rows.values())) == (names, rows)


def test_a_text_of_a_label_that_is_left_out_has_no_class_which_is_a_set_too(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", {"text": reviews(30)["text"], "label": [["a", "?"], ["b"], ["?"]] * 10})
    data = load(tmp_path, drop_labels=["?"], validation_fraction=0.2)
    assert (data.label_names, sum(data.splits.num_rows.values())) == (["a", "b"], 30)
