# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Columns are found or asked for; labels become ids and names, or are refused with their row."""

from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from text_samples import WRITERS, fault, load, write

from modeling_scratch.data.columns import choose_columns, find_text_columns, read_texts
from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments
from modeling_scratch.data.tables import open_table, read_rows

TEXTS = [f"this is text {number}" for number in range(12)]
CLASSES = ["bad", "good", "fair"] * 4
DAYS, KEYS = zip(*((f"2024-01-{row + 10}", f"{row:x}-a") for row in range(12)))


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"phrase": TEXTS, "tone": CLASSES}, ("phrase", "tone")),
        ({"id": range(12), "phrase": TEXTS, "tone": [1, 2, 3] * 4}, ("phrase", "tone")),
        ({"": range(12), "sentence": TEXTS, "label": CLASSES}, ("sentence", "label")),
        ({"text": TEXTS, "label": [0, 1] * 6, "label_text": ["bad", "good"] * 6}, ("text", "label")),
        ({"title": TEXTS[::-1], "Review": TEXTS, "Sentiment": CLASSES}, ("Review", "Sentiment")),
        ({"words": CLASSES, "label": [0, 1, 2] * 4}, ("words", "label")),
        ({"phrase": TEXTS, "stars": [1.5, 2.5, 3.0] * 4}, ("phrase", "stars")),
        ({"phrase": TEXTS, "score": [f"{row},5" for row in range(12)]}, ("phrase", "score")),
        ({"date": DAYS[:1] * 12, "day": DAYS, "key": KEYS, "phrase": TEXTS, "tone": CLASSES}, ("phrase", "tone")),
    ],
)
def test_columns_are_found_where_they_are_plain(tmp_path: Path, suffix: str, columns: dict, found: tuple) -> None:
    path = write(tmp_path / f"data{suffix}", {name: list(values) for name, values in columns.items()})
    assert choose_columns([row.values for row in read_rows(path)], "data") == found


def test_a_column_of_lists_has_labels() -> None:
    rows = [{"phrase": text, "topics": ["a", "b"][: number % 3]} for number, text in enumerate(TEXTS)]
    assert choose_columns(rows, "data") == ("phrase", "topics")


PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"  # spelt with zero-width characters
PLAIN = {"text": TEXTS, "label": CLASSES}


@pytest.mark.parametrize(
    ("columns", "arguments", "pieces"),
    [
        ({"one": TEXTS, "two": TEXTS, "label": CLASSES}, {}, ["'one' or 'two'", "--text_column"]),
        ({"text": TEXTS, "sentence": TEXTS, "label": CLASSES}, {}, ["'text' or 'sentence'", "--text_column"]),
        (
            {"text": TEXTS, "a": [0, 1] * 6, "b": [1, 1, 0] * 4, "day": ["Monday"] * 12},
            {},
            ["'a' or 'b'", "--label_column", "one column of lists", "table[['a', 'b']]", "--class_names a b"],
        ),
        ({"a": TEXTS, "b": TEXTS, "data": [{"text": "good"}] * 12}, {}, ["'data' has objects", "--text_column"]),
        ({**PLAIN, "answer": ["accept", "reject"] * 6}, {}, ["'answer' rejects labels", "leave these rows out"]),
        ({"text": TEXTS}, {}, ["'text'", "label", "--label_column"]),
        ({"id": list(range(12)), "label": CLASSES}, {}, ["'id', 'label'", "text", "--text_column"]),
        ({"text": TEXTS, "meta": [{"tone": "good"}] * 12}, {}, ["'meta' has objects or lists", "json_normalize"]),
        (PLAIN, {"label_column": "labels"}, ["no column 'labels'", "did you mean 'label'"]),
        (PLAIN, {"text_column": "label", "label_column": "label"}, ["'label' cannot be both"]),
    ],
)
def test_columns_that_are_not_plain_are_asked_for(tmp_path: Path, columns: dict, arguments: dict, pieces: list) -> None:
    write(tmp_path / "train.parquet", columns)
    with fault("train.parquet", *pieces):
        load(tmp_path, **arguments)


def test_texts_are_read_from_a_file_without_labels(tmp_path: Path) -> None:
    labelled = write(tmp_path / "labelled.csv", {"sentence": TEXTS, "label": CLASSES})
    assert list(read_texts(labelled)) == list(enumerate(TEXTS, 1))
    gaps = write(tmp_path / "gaps.jsonl", {"index": [7, 8, 9], "sentence": ["first", None, "last"]})
    assert list(read_texts(gaps)) == [(1, "first"), (2, ""), (3, "last")]
    assert list(read_texts(gaps, "sentence")) == list(read_texts(gaps))
    with fault("gaps.jsonl, row 1", "'index'", "int 7"):
        list(read_texts(gaps, "index"))
    (lacking := tmp_path / "in.jsonl").write_text('{"id": "a"}\n{"id": "b", "text": "this is a text"}\n')
    with fault("in.jsonl, row 1", "no column 'text'"):
        list(read_texts(lacking))


@pytest.mark.parametrize(
    ("labels", "class_names", "names", "ids"),
    [
        (["1", "0"], None, ["NEGATIVE", "POSITIVE"], [1, 0]),
        ([1.0, 0.0], None, ["NEGATIVE", "POSITIVE"], [1, 0]),
        (["1.0", "0.0"], None, ["NEGATIVE", "POSITIVE"], [1, 0]),
        ([0, 1], ["ham", "spam"], ["ham", "spam"], [0, 1]),
        ([10, 2, 1], None, ["1", "2", "10"], [2, 1, 0]),
        ([-1, 1], None, ["-1", "1"], [0, 1]),
        ([3, 1, 2], ["poor", "fair", "good"], ["poor", "fair", "good"], [2, 0, 1]),
        (["pos", "neg"], None, ["neg", "pos"], [1, 0]),
        (["pos", "neg"], ["pos", "neg"], ["pos", "neg"], [0, 1]),
        ([True, False], None, ["False", "True"], [1, 0]),
        (["007", "7"], None, ["7", "007"], [1, 0]),
        (["1", "other"], None, ["1", "other"], [0, 1]),
        (["0", "1\u200b"], None, ["NEGATIVE", "POSITIVE"], [0, 1]),
        (["neg ", PERSIAN], None, ["neg", PERSIAN], [0, 1]),
        (["cafe\u0301", "bar "], ["caf\u00e9", "bar"], ["caf\u00e9", "bar"], [0, 1]),
    ],
)
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_labels_become_ids_and_names(
    tmp_path: Path, suffix: str, labels: list, class_names: list | None, names: list, ids: list
) -> None:
    texts = [f"text {number}" for number in range(4 * len(labels))]
    write(tmp_path / f"train{suffix}", {"text": texts, "label": labels * 4})
    write(tmp_path / f"validation{suffix}", {"text": ["other"], "label": labels[:1]})
    data = load(tmp_path, class_names=class_names)
    assert data.label_names == names
    assert data.splits["train"]["label"][:] == ids * 4
    assert data.splits["validation"]["label"][:] == ids[:1]


def test_metadata_of_a_parquet_file_without_valid_class_names_are_refused(tmp_path: Path) -> None:
    names = b'{"info": {"features": {"label": {"names": ["a", "a"], "_type": "ClassLabel"}}}}'
    for metadata in (b"\xff", b"{", names):
        table = pa.table({"text": TEXTS, "label": [0, 1] * 6}).replace_schema_metadata({"huggingface": metadata})
        pq.write_table(table, tmp_path / "train.parquet")
        with fault("train.parquet: damaged or not a table with valid class names of column 'label'"):
            load(tmp_path)


def test_class_names_in_a_parquet_file_are_kept(tmp_path: Path) -> None:
    names = datasets.ClassLabel(names=["zero", "alpha"])
    features = datasets.Features({"text": datasets.Value("string"), "label": names})
    for split, labels in (("train", [0, 1] * 5 + [-1, 1]), ("test", [-1] * 12)):
        rows = datasets.Dataset.from_dict({"text": TEXTS, "label": labels}, features=features)
        rows.to_parquet(tmp_path / f"{split}.parquet")
    write(tmp_path / "validation.csv", {"text": ["new", "newer"], "label": ["alpha", "zero"]})
    data = load(tmp_path)
    assert data.label_names == ["zero", "alpha"]
    assert data.splits["train"].to_dict() == {"text": TEXTS[:10] + TEXTS[11:], "label": [0, 1] * 5 + [1]}
    assert data.splits["validation"]["label"][:] == [1, 0]
    assert "train: dropped 1 row without a label, first train.parquet, row 11" in data.notes
    assert "test: not used, as it has no labels" in data.notes


def test_a_value_that_does_not_fit_is_named_with_its_row(tmp_path: Path) -> None:
    for value in (7, True, ["a", "list"]):
        write(tmp_path / "train.jsonl", {"text": [*TEXTS[:-1], value], "label": ["bad", "good"] * 6})
        with fault("train.jsonl, row 12, column 'text'", type(value).__name__, "--text_column"):
            load(tmp_path, text_column="text")
    write(tmp_path / "train.jsonl", {"text": TEXTS, "label": ["bad", "good"] * 6})
    write(tmp_path / "test.csv", {"text": ["a", "b", "c"], "label": ["good", "Good", "fair"]})
    with fault("test.csv, row 2, column 'label'", "'Good' does not occur in train (nor do 'fair')", "'bad', 'good'"):
        load(tmp_path)


@pytest.mark.parametrize("column", ["label", "wrong"])
def test_a_test_split_without_labels_is_not_used(tmp_path: Path, column: str) -> None:
    """GLUE hides the labels of its test splits: -1 on the Hub, no column at all in its own files."""
    write(tmp_path / "train.tsv", {"sentence": TEXTS, "label": [0, 1] * 6})
    write(tmp_path / "dev.tsv", {"sentence": ["new"], "label": [1]})
    test = write(tmp_path / "test.tsv", {"sentence": ["hidden", "too"], column: [-1, -1]})
    data = load(tmp_path)
    assert list(data.splits) == ["train", "validation"]
    assert "test: not used, as it has no labels" in data.notes
    with fault("test.tsv"):  # asked for by name, it is expected to serve
        load_splits(DataArguments(train_file=str(tmp_path / "train.tsv"), test_file=str(test)))


def test_a_table_has_the_column_that_the_model_was_trained_on(tmp_path: Path) -> None:
    """The only column may have another name. Of several, none is taken in its place."""
    path = write(tmp_path / "new.csv", {"id": ["1", "2"], "body": ["a good film", "a bad film"]})
    assert find_text_columns(open_table(path)) == ("body",) == find_text_columns(open_table(path), trained=("body",))
    with fault("no column 'text'", "'id', 'body'", "trained on 'text'", "--text_column"):
        find_text_columns(open_table(path), trained=("text",))
    alone = write(tmp_path / "alone.csv", {"body": ["a good film", "a bad film"]})
    assert find_text_columns(open_table(alone), trained=("text",)) == ("body",)
    bare = write(tmp_path / "bare.csv", {"good": ["bad"], "gut": ["schlecht"]})  # without a header, as in training
    table = open_table(bare).as_in_training(("column_1",))
    assert find_text_columns(table, trained=("column_1",)) == ("column_1",)
    assert [row.values["column_1"] for row in table.rows()] == ["good", "bad"]
