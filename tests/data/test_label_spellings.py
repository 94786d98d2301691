# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels that look alike: spellings of one label are one class, and probable ones are warned of."""

from collections import Counter
from pathlib import Path

import datasets
import pytest
from text_samples import load, reviews, write

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
    assert f"train: the label {variant!a} of 4 rows is read as {label!a}" in data.notes
    assert f"test: the label {variant!a} of 1 rows is read as {label!a}" in data.notes


def test_a_label_with_one_spelling_keeps_it(tmp_path: Path) -> None:
    names = ["neg ", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"]  # Persian is spelt with zero-width characters
    write(tmp_path / "train.csv", {"text": reviews(20)["text"], "label": names * 10})
    data = load(tmp_path)
    assert data.label_names == names
    assert [note for note in data.notes if "is read as" in note] == []


def test_class_names_match_any_spelling_of_the_labels(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", {"text": reviews(20)["text"], "label": ["cafe\u0301", "bar "] * 10})
    data = load(tmp_path, class_names=["caf\u00e9", "bar"])
    assert data.label_names == ["caf\u00e9", "bar"]


def test_invisible_labels_are_missing_and_invisible_characters_leave_numbers_numbers(tmp_path: Path) -> None:
    labels = ["0", "1\u200b"] * 10 + ["\u200b", "\ufeff "]
    write(tmp_path / "train.csv", {"text": reviews(22)["text"], "label": labels})
    data = load(tmp_path)
    assert data.label_names == ["NEGATIVE", "POSITIVE"]
    assert any(note.startswith("train: 2 rows without a label were dropped") for note in data.notes)


@pytest.mark.parametrize(("label", "other"), [("pos", "Pos"), ("x2", "x\u00b2"), ("pos", "\uff50os")])
def test_labels_that_differ_by_case_or_compatibility_are_warned_of(tmp_path: Path, label: str, other: str) -> None:
    write(tmp_path / "train.csv", {"text": reviews(40)["text"], "label": [label, "neg", other, "neg"] * 10})
    data = load(tmp_path)
    assert set(data.label_names) == {label, "neg", other}
    (warning,) = data.warnings
    assert ascii(label) in warning
    assert ascii(other) in warning
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
