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
    write(
        tmp_path / f"train{suffix}", {"text": reviews(20)["text"], "label": [variant, "neg", label, "neg", label] * 4}
    )
    write(tmp_path / f"validation{suffix}", {"text": ["new", "other"], "label": ["neg", variant]})
    data = load(tmp_path)
    names = {split: [data.label_names[number] for number in rows["label"]] for split, rows in data.splits.items()}
    assert names == {"train": [label, "neg", label, "neg", label] * 4, "validation": ["neg", label]}


@pytest.mark.parametrize(("label", "other"), [("pos", "Pos"), ("x2", "x\u00b2"), ("pos", "\uff50os")])
def test_labels_that_differ_by_case_or_compatibility_are_warned_of(tmp_path: Path, label: str, other: str) -> None:
    write(tmp_path / "train.csv", {"text": reviews(40)["text"], "label": [label, "neg", other, "neg"] * 10})
    data = load(tmp_path)
    assert set(data.label_names) == {label, "neg", other}
    (warning,) = data.warnings
    first, last = sorted((label, other))
    assert f"{last!r} (10 rows) of {first!r} (10 rows)" in warning
    assert f"add --label_map {shlex.quote(f'{last}={first}')}" in warning


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


def test_labels_of_other_splits_are_mapped_from_a_table_and_others_are_named(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    write(tmp_path / "validation.csv", {"text": ["new", "other"], "label": ["logni", "Bill ing"]})
    with fault("validation.csv, row 1", "'logni' does not occur in train (nor do 'Bill ing')", "did you mean 'login'?"):
        load(tmp_path)
    path = tmp_path / "map.csv"
    path.write_text('source,target\nlogni,login\n"Bill  ing",billing\n')
    data = load(tmp_path, label_map=[str(path), "spam=billing"])
    assert [data.label_names[label] for label in data.splits["validation"]["label"]] == ["login", "billing"]
    assert "spam" not in data.label_names
    with fault("--label_map: no row has the label 'Bilng'", "did you mean 'Biling'?"):
        load(tmp_path, label_map=[str(path), "Bilng=billing"])
    for lines, told in (("source,target\nBiling,\n", "a label on each side"), ("from,to\na,b\n", "no column 'source'")):
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


def test_a_label_that_means_none_is_left_out_of_sets_and_of_declared_classes(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", {"text": reviews(30)["text"], "label": [["a", "?"], ["b"], ["?"]] * 10})
    data = load(tmp_path, drop_labels=["?"], validation_fraction=0.2)
    assert data.label_names == ["a", "b"]
    assert sum(data.splits.num_rows.values()) == 30, "no class is a set of classes, too"
    label = datasets.ClassLabel(names=["a", "none", "b"])
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    declared = datasets.Dataset.from_dict({"text": reviews(30)["text"], "label": [0, 1, 2] * 10}, features=features)
    (folder := tmp_path / "declared").mkdir()
    declared.to_parquet(folder / "train.parquet")
    for options, names, rows in (
        ({"drop_labels": ["none"]}, ["a", "b"], 20),
        ({"label_map": ["a=0", "b=1", "none=1"]}, ["NEGATIVE", "POSITIVE"], 30),
    ):
        data = load(folder, validation_fraction=0.2, **options)
        assert (data.label_names, sum(data.splits.num_rows.values())) == (names, rows)
