# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Unlabelled text from every source: what a document is, what is held out, and that a test split is never opened."""

from pathlib import Path
from typing import Any

import pytest
from text_samples import fault, write

from modeling_scratch.data.documents import DocumentArguments, Documents, load_documents

TEXT = "First line\nsecond line\n\n \nA new paragraph.\r\n\n\nThe last,\nof two lines\n"


def load(path: Path, *others: Path, **arguments: Any) -> Documents:
    return load_documents(DocumentArguments(train_file=[str(path), *map(str, others)], **arguments))


def many(number: int, start: int = 0) -> dict:
    return {"text": [f"document number {row}" for row in range(start, start + number)], "label": [0] * number}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("file", [TEXT.replace("\r", "")]),
        ("paragraph", ["First line\nsecond line", "A new paragraph.", "The last,\nof two lines"]),
        ("line", ["First line", "second line", "A new paragraph.", "The last,", "of two lines"]),
    ],
)
def test_a_text_file_is_one_document_or_its_parts(tmp_path: Path, document: str, expected: list[str]) -> None:
    """Validation of any kind goes with it; a test split is never opened."""
    (tmp_path / "train.txt").write_bytes(TEXT.encode())
    write(tmp_path / "validation.csv", many(3))
    write(tmp_path / "more.csv", many(2))
    (tmp_path / "test.csv").write_bytes(b"\xff\xfe no text at all")
    documents = load_documents(DocumentArguments(data_dir=str(tmp_path), document=document))
    assert documents.train == expected
    assert documents.validation == many(3)["text"]
    assert documents.notes[0] == "ignored, as not named after a split: more.csv"
    assert "never opened" in documents.describe()


def test_of_one_long_text_the_end_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("0123456789" * 10)
    documents = load(tmp_path / "long.txt", validation_fraction=0.25)
    assert documents.train == ["0123456789" * 7 + "01234"]
    assert documents.validation == ["56789" + "0123456789" * 2]


def test_of_many_documents_whole_ones_are_held_out_and_equal_ones_stay_together(tmp_path: Path) -> None:
    """Which, follows from the seed, and not from the order."""
    columns = {name: values * 3 for name, values in many(200).items()}
    path = write(tmp_path / "all.csv", columns)
    documents = load(path, validation_fraction=0.1)
    train, validation = set(documents.train), set(documents.validation)
    assert train | validation == set(columns["text"])
    assert not train & validation
    assert len(documents.validation) == len(validation) == 20
    turned = write(tmp_path / "turned.parquet", {name: values[::-1] for name, values in columns.items()})
    assert set(load(turned, validation_fraction=0.1).validation) == validation
    assert set(load(path, validation_fraction=0.1, split_seed=1).validation) != validation


def test_several_files_are_one_text_and_blank_documents_are_left_out(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.csv", many(2)), write(tmp_path / "b.jsonl", {"text": ["x", " ", None]})
    documents = load(first, second, validation_file=[str(write(tmp_path / "c.tsv", many(3, 10)))])
    assert documents.train == ["document number 0", "document number 1", "x"]
    assert documents.validation == many(3, 10)["text"]


def test_the_text_column_of_a_data_set_is_found_as_that_of_a_table(tmp_path: Path) -> None:
    write(tmp_path / "train.parquet", many(20) | {"id": [f"row {number % 3}" for number in range(20)]})
    write(tmp_path / "test.parquet", many(5, start=30))
    for source in ({"dataset_name": str(tmp_path)}, {"data_dir": str(tmp_path)}):
        documents = load_documents(DocumentArguments(**source))
        assert {*documents.train, *documents.validation} == {*many(20)["text"]}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.txt", b"", "only empty text"),
        ("invisible.txt", " \n\u200b\u200d\n".encode(), "only empty text"),
        ("latin.txt", b"caf\xe9", "line 1, character 4: not valid UTF-8"),
        ("tiny.txt", b"x", "too little"),
        ("a.csv", b"text\nx\ny\n", "no column 'body'; available columns: 'text'"),
        ("a.docx", b"", "unknown format"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with fault(name, told):
        load(tmp_path / name, text_column="body")


def test_a_first_line_that_could_be_a_text_is_said_and_is_one_with_no_header(tmp_path: Path) -> None:
    texts = many(20)["text"]
    for lines, options in ((texts, {"no_header": True}), (["Documents", "text", *texts], {"header_row": 2})):
        (tmp_path / "a.csv").write_text("\n".join(lines))
        found = load(tmp_path / "a.csv", **options)
        assert sorted([*found.train, *found.validation]) == sorted(texts)
    (tmp_path / "a.csv").write_text("\n".join(texts))
    note = f"{texts[0]!r} is read as the name of a column; if it is a row, set --no_header"
    assert note in load(tmp_path / "a.csv").notes
