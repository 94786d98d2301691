# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels that look alike: spellings of one label are one class, and probable ones are warned of."""

import shlex
from collections import Counter
from pathlib import Path

import datasets
import pytest
from text_samples import fault, load, reviews, write

from modeling_scratch.data.labels import proposed_label_map

ALIKE = {
    "blanks": ("very good", " very  good\t"),
    "a no-break space": ("very good", "very\u00a0good"),
    "a zero-width space": ("pos", "p\u200bos"),
    "a byte order mark": ("pos", "\ufeffpos"),
    "a soft hyphen": ("pos", "po\u00ads"),
    "Unicode normalisation": ("caf\u00e9", "cafe\u0301"),
}


@pytest.mark.parametrize(("label", "variant"), ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_spellings_of_a_label_are_one_class(tmp_path: Path, label: str, variant: str, suffix: str) -> None:
    texts = reviews(20)["text"]
    write(tmp_path / f"train{suffix}", {"text": texts, "label": [variant, "neg", label, "neg", label] * 4})
    write(tmp_path / f"test{suffix}", {"text": texts[:2], "label": ["neg", variant]})
    data = load(tmp_path)
    assert sorted(data.label_names) == sorted(["neg", label])
    assert Counter(data.splits["train"]["label"]) + Counter(data.splits["validation"]["label"]) == {
        data.label_names.index("neg"): 8,
        data.label_names.index(label): 12,
    }
    assert data.splits["test"]["label"] == [data.label_names.index(name) for name in ("neg", label)]
    assert f"train: labels that are read as others: {variant!a} (4 rows) as {label!r}" in data.notes
    assert f"test: labels that are read as others: {variant!a} (1 row) as {label!r}" in data.notes


@pytest.mark.parametrize(("label", "other"), [("pos", "Pos"), ("x2", "x\u00b2"), ("pos", "\uff50os")])
def test_labels_that_differ_by_case_or_compatibility_are_warned_of(tmp_path: Path, label: str, other: str) -> None:
    write(tmp_path / "train.csv", {"text": reviews(40)["text"], "label": [label, "neg", other, "neg"] * 10})
    data = load(tmp_path)
    assert set(data.label_names) == {label, "neg", other}
    (warning,) = data.warnings
    assert repr(label) in warning
    assert repr(other) in warning
    assert f"add --label_map {shlex.quote(f'{max(label, other)}={min(label, other)}')}" in warning
    assert f"WARNING: {warning}" in data.describe().splitlines()


def test_declared_classes_stay_apart_and_take_other_spellings(tmp_path: Path) -> None:
    declared = datasets.ClassLabel(names=["neg", "pos"])
    features = datasets.Features({"text": datasets.Value("string"), "label": declared})
    rows = datasets.Dataset.from_dict(reviews(20), features=features)
    rows.to_parquet(tmp_path / "train.parquet")
    write(tmp_path / "validation.csv", {"text": ["new", "other"], "label": ["pos\u200b", "neg "]})
    data = load(tmp_path)
    assert data.label_names == ["neg", "pos"]
    assert data.splits["validation"]["label"] == [1, 0]


COUNTS = {
    "billing": 400, "login": 300, "shipping": 200, "topic 1": 500, "c": 90, "A": 80, 1: 500,  # what is meant
    "Billing": 40, "biling": 7, "billign": 3, "Biling ": 2, "log in": 9, "LOG-IN": 4, "shiping": 20,  # what it became
    "topic 2": 3, "c++": 9, "A-": 2, "failing": 70, 7: 3, "b": 1, "shop": 2,  # others
}  # fmt: skip


def test_typos_of_frequent_labels_are_proposed() -> None:
    assert proposed_label_map(COUNTS) == {
        **dict.fromkeys(["Billing", "biling", "billign", "Biling "], "billing"),
        **dict.fromkeys(["log in", "LOG-IN"], "login"),
        "shiping": "shipping",
    }
    assert proposed_label_map({"reset": 9, "cancel": 9_000, "cancell": 18, "=cancel": 4}) == {"cancell": "cancel"}


@pytest.mark.parametrize(
    "counts",
    [
        {"unlikely": 3_000, "likely": 250, "like": 5_000, "hike": 100},
        {"male": 900, "female": 10, "product": 700, "production": 5},
        {"relevant": 900, "irrelevant": 10, "legal": 5, "illegal": 700, "moral": 900, "amoral": 5},
    ],
)
def test_frequent_labels_and_other_words_are_no_typos(counts: dict[str, int]) -> None:
    assert not proposed_label_map(counts)


def write_tickets(folder: Path) -> dict[str, list]:
    labels = ["billing"] * 40 + ["login"] * 20 + ["Biling", "log in", "spam"]
    columns = {"text": reviews(len(labels))["text"], "label": labels}
    write(folder / "train.csv", columns)
    write(folder / "validation.csv", {"text": ["new", "other"], "label": ["login", "billing"]})
    return columns


def test_the_proposed_map_is_taken(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    alike, small, *others = load(tmp_path).warnings
    assert "'Biling' (1 row) of 'billing' (40 rows)" in alike
    assert small == "classes with fewer than 5 rows can hardly be learned: 'spam' (1)"
    assert others == []
    _, _, options = alike.partition("--label_map ")
    data = load(tmp_path, label_map=shlex.split(options))
    assert data.label_names == ["billing", "login", "spam"]
    assert Counter(data.splits["train"]["label"]) == {0: 41, 1: 21, 2: 1}
    both = "'Biling' (1 row) as 'billing', 'log in' (1 row) as 'login'"
    assert f"train: labels that are read as others: {both}" in data.notes
    assert [warning for warning in data.warnings if "one class" in warning] == []


def test_a_label_of_another_split_can_be_mapped(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    write(tmp_path / "validation.csv", {"text": ["new", "other"], "label": ["logni", "Bill ing"]})
    with fault("validation.csv, row 1", "'logni' does not occur in train", "--label_map"):
        load(tmp_path)
    data = load(tmp_path, label_map=["logni=login", "Bill  ing=billing"])
    names = [data.label_names[label] for label in data.splits["validation"]["label"]]
    assert names == ["login", "billing"]
    with fault("--label_map: no row has the label 'Bilng'", "did you mean 'Biling'?"):
        load(tmp_path, label_map=["logni=login", "Bill  ing=billing", "Bilng=billing"])


def test_a_map_is_read_from_a_table(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    path = tmp_path / "map.csv"
    path.write_text('source,target\nBiling,billing\n"log in",login\n')
    data = load(tmp_path, label_map=[str(path), "spam=billing"])
    assert Counter(data.splits["train"]["label"]) == {0: 42, 1: 21}
    path.write_text("source,target\nBiling,billing\nlog in,\n")
    with fault("--label_map map.csv, row 2", "a label on each side"):
        load(tmp_path, label_map=[str(path)])
    path.write_text("from,to\nBiling,billing\n")
    with fault("map.csv", "no column 'source'"):
        load(tmp_path, label_map=[str(path)])


def test_labels_that_mean_none_are_told_and_left_out(tmp_path: Path) -> None:
    labels = ["billing"] * 40 + ["login"] * 20 + ["N/A"] * 6
    write(tmp_path / "train.csv", {"text": reviews(len(labels))["text"], "label": labels})
    write(tmp_path / "validation.csv", {"text": ["new", "old", "none"], "label": ["login", "billing", "n/a "]})
    with fault("'n/a ' does not occur in train", "--label_map n/a=...)"):
        load(tmp_path)
    data = load(tmp_path, label_map=["n/a=N/A"])
    assert any(warning.endswith("if they are, add --drop_labels N/A") for warning in data.warnings)
    data = load(tmp_path, drop_labels=["N/A", "n/a"])
    assert (data.label_names, data.splits.num_rows) == (["billing", "login"], {"train": 60, "validation": 2})
    assert "train: labels that are left out (--drop_labels): 'N/A' (6 rows)" in data.notes
    assert data.warnings == []
    data = load(tmp_path, drop_labels=["N/A"], label_map=["n/a=N/A"])
    assert (data.label_names, data.splits["validation"].num_rows, data.warnings) == (["billing", "login"], 2, [])
    with fault("--drop_labels: no row has the label 'NA'", "did you mean 'N/A'?"):
        load(tmp_path, drop_labels=["NA", "N/A", "n/a"])


def test_a_label_that_means_none_is_left_out_of_sets_and_of_declared_classes(tmp_path: Path) -> None:
    rows = {"text": reviews(30)["text"], "label": [["a", "?"], ["b"], ["?"]] * 10}
    write(tmp_path / "train.jsonl", rows)
    data = load(tmp_path, drop_labels=["?"], validation_fraction=0.2)
    assert data.label_names == ["a", "b"]
    assert sum(split.num_rows for split in data.splits.values()) == 30, "no class is a set of classes, too"
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["a", "none", "b"])}
    )
    declared = {"text": reviews(30)["text"], "label": [0, 1, 2] * 10}
    folder = tmp_path / "declared"
    folder.mkdir()
    datasets.Dataset.from_dict(declared, features=features).to_parquet(folder / "train.parquet")
    data = load(folder, drop_labels=["none"], validation_fraction=0.2)
    assert data.label_names == ["a", "b"]
    assert sum(split.num_rows for split in data.splits.values()) == 20
    data = load(folder, label_map=["a=0", "b=1", "none=1"], validation_fraction=0.2)
    assert data.label_names == ["NEGATIVE", "POSITIVE"]
