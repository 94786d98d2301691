# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables as they come: other delimiters, compressed files and Excel workbooks are read as a plain file is."""

import csv
import gzip
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
from text_samples import WRITERS, fault, load, reviews, write

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.rows import read_rows
from modeling_scratch.data.splits import DataArguments
from modeling_scratch.data.tables import TableForm

TEXTS = ["plain", "one, two; three", 'a "quote"', "two\nlines | a tab\t", "", "ünï ☃", "a;b;c", "x,y"]
HEADER = ["id", "text", "label"]
RECORDS = [[str(row), text, "ab"[row % 2]] for row, text in enumerate(TEXTS)]
TEXT_WRITERS = {suffix: writer for suffix, writer in WRITERS.items() if suffix != ".parquet"}


def write_table(path: Path, delimiter: str, records: list[list[str]] = RECORDS) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, delimiter=delimiter).writerows([HEADER, *records])
    return path


def write_sheets(path: Path, **sheets: list[list[object]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, records in sheets.items():
        sheet = workbook.create_sheet(name)
        for record in records:
            sheet.append(record)
    workbook.save(path)
    return path


def to_gzip(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return packed


def to_zip(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, f"folder/{path.name}")
        archive.writestr("__MACOSX/._data", "x")
    return packed


def to_bare_zip(path: Path) -> Path:
    return to_zip(path).rename(path.with_suffix(".zip"))


def texts_of(path: Path, form: TableForm | None = None) -> list[str]:
    return [values["text"] for _, values in read_rows(path, ["text"], *([form] if form else []))]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_can_be_set(tmp_path: Path, delimiter: str) -> None:
    path = write_table(tmp_path / "data.csv", delimiter)
    assert texts_of(path) == TEXTS
    assert texts_of(path, TableForm("tab" if delimiter == "\t" else delimiter)) == TEXTS


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "gbk"])
@pytest.mark.parametrize("name", ["data.csv", "data.tsv", "data.jsonl"])
def test_another_encoding_is_read_where_it_is_given(tmp_path: Path, name: str, encoding: str) -> None:
    texts = [f"{'naïve “€”' if encoding == 'cp1252' else '好的'} text {row}" for row in range(30)]
    columns = {"text": texts, "label": ["a", "b"] * 15}
    path = write(tmp_path / name, columns)
    if name.endswith(".jsonl"):
        path.write_text("".join(f'{{"text": "{text}", "label": "a"}}\n' for text in texts), encoding="utf-8")
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert texts_of(path, TableForm(encoding=encoding)) == texts
    advice = "--encoding utf-16" if encoding == "utf-16" else "--encoding cp1252"
    with fault(name, "not valid UTF-8", advice):
        load_splits(DataArguments(train_file=str(path)))
    with fault(name, "not valid ascii; give another --encoding"):
        load_splits(DataArguments(train_file=str(path), encoding="ascii"))
    path.write_bytes(path.read_bytes().decode(encoding).encode("utf-8-sig"))
    assert texts_of(path, TableForm(encoding="UTF8")) == texts


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("text\na;b\nc;d\n", ["text"]),  # not in the header
        ("text;label\na;b\nc;d;e\n", ["text", "label"]),  # not in all records, but the only one in the header
        ("question (yes|no)\nIs it blue?\n", ["question (yes|no)"]),  # in the header alone
        ("a;b,c;d\n1;2,3;4\n", ["a;b", "c;d"]),  # both: the comma
        ("a;b|c\n1;2|3\n", ["a;b|c"]),  # two others
        ('"a;b",c\n"1;2",3\n', ["a;b", "c"]),  # quoted
        ('"a,b";c\n"1,2";3\n', ["a,b", "c"]),
        ("a;b\n1,5;2,5\n", ["a", "b"]),
    ],
)
def test_only_an_unambiguous_delimiter_is_found(tmp_path: Path, content: str, columns: list[str]) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)
    assert list(next(read_rows(path))[1]) == columns


def test_a_row_with_more_fields_is_named_whatever_the_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("id;text\n1;a, b\n2;b;c\n3;d\n")
    with fault("data.csv, row 2", "3 fields, but the header has 2"):
        list(read_rows(path))


def test_a_found_delimiter_is_said(tmp_path: Path) -> None:
    records = [[str(row), f"text {row}", "ab"[row % 2]] for row in range(40)]
    path = write_table(tmp_path / "train.csv", ";", records)
    note = "train.csv: the delimiter ';' was found from the first records; set --delimiter to change this"
    assert note in load(tmp_path).notes
    assert note in load_splits(DataArguments(train_file=str(path))).notes
    assert note not in load_splits(DataArguments(train_file=str(path), delimiter=";")).notes
    with fault("field", "set --delimiter"):
        write_table(path, "#", [["1", "a, b", "c"]])
        list(read_rows(path))


@pytest.mark.parametrize("suffix", TEXT_WRITERS)
@pytest.mark.parametrize("pack", [to_gzip, to_zip, to_bare_zip])
def test_compressed_files_are_read_as_plain_ones(tmp_path: Path, suffix: str, pack: Callable[[Path], Path]) -> None:
    path = write(tmp_path / f"data{suffix}", reviews(50))
    plain = list(read_rows(path))
    packed = pack(path)
    path.unlink()
    assert list(read_rows(packed)) == plain


def test_compressed_splits_are_found_in_folders(tmp_path: Path) -> None:
    for split, pack, start in (("train", to_gzip, 0), ("dev", to_zip, 100), ("test", to_gzip, 200)):
        path = write(tmp_path / f"{split}.csv", reviews(20, start))
        pack(path)
        path.unlink()
    to_gzip(write(tmp_path / "other.csv", reviews(1)))
    (tmp_path / "other.csv").unlink()
    data = load(tmp_path)
    assert {split: rows.to_dict()["text"][0] for split, rows in data.splits.items()} == {
        "train": "review number 0", "validation": "review number 100", "test": "review number 200",
    }  # fmt: skip
    assert "ignored, as not named after a split: other.csv.gz" in data.notes


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, lambda path: path.write_bytes(b"text,label\na,1\n")])
@pytest.mark.parametrize("pack", [to_gzip, to_zip, to_bare_zip])
def test_damaged_archives_are_refused(
    tmp_path: Path, pack: Callable[[Path], Path], damage: Callable[[Path], None]
) -> None:
    packed = pack(write(tmp_path / "data.csv", reviews(500)))
    damage(packed)
    with fault(str(packed), "damaged"):
        list(read_rows(packed))


def test_archives_of_other_things_are_refused(tmp_path: Path) -> None:
    for names, message in ((["a.csv", "b.csv"], "contains 2 files"), ([], "contains 0"), (["a.exe"], "not a text")):
        path = tmp_path / "data.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "text\na\n")
        with fault(str(path), message):
            list(read_rows(path))
    packed = to_gzip(write(tmp_path / "data.parquet", reviews(2)))
    with fault(str(packed), "unknown format", ".gz or .zip"):
        list(read_rows(packed))
    (tmp_path / "bad.csv").write_bytes(b"text\ncaf\xe9\n")
    with fault("line 2, byte 3", "iconv"):
        list(read_rows(to_gzip(tmp_path / "bad.csv")))


def test_an_archive_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 9_999_999 + b"\n", mtime=0) * 26)
    with fault(str(path), "expands to more than 256 MB"):
        list(read_rows(path))


def test_excel_is_read_as_the_csv_of_its_sheet(tmp_path: Path) -> None:
    records = [
        ["id", "text", "label", "date"],
        [1, "first; text", "a", datetime(2024, 5, 1)],
        [],
        [2.0, "second\nline", True, datetime(2024, 5, 1, 12, 30)],
        [3.5, None, "b"],
    ]
    path = write_sheets(tmp_path / "data.xlsx", tickets=records, other=[["text"], ["else"]])
    assert list(read_rows(path)) == [
        (1, {"id": "1", "text": "first; text", "label": "a", "date": "2024-05-01"}),
        (2, {"id": "2", "text": "second\nline", "label": "True", "date": "2024-05-01 12:30:00"}),
        (3, {"id": "3.5", "text": "", "label": "b", "date": ""}),
    ]
    assert texts_of(path, TableForm(sheet="other")) == ["else"]
    with fault(str(path), "no sheet 'none'", "'tickets', 'other'"):
        texts_of(path, TableForm(sheet="none"))


def test_an_error_of_a_formula_is_an_empty_cell(tmp_path: Path) -> None:
    path = write_sheets(tmp_path / "data.xlsx", tickets=[["text", "label"], ["a", "#N/A"], ["#DIV/0!", "b"]])
    assert [values for _, values in read_rows(path)] == [{"text": "a", "label": ""}, {"text": "", "label": "b"}]


def test_a_workbook_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w") as part,
    ):
        for _ in range(26):
            part.write(bytes(10_000_000))
    with fault(str(path), "expands to more than 256 MB"):
        list(read_rows(path))


def test_a_table_may_start_anywhere_in_its_sheet(tmp_path: Path) -> None:
    records = [[], [None, "text", "label"], [], [None, "a"], [None, "b", 2]]
    path = write_sheets(tmp_path / "data.xlsx", tickets=records)
    assert [values for _, values in read_rows(path)] == [{"text": "a", "label": ""}, {"text": "b", "label": "2"}]
    write_sheets(path, tickets=[*records, ["aside", "c", 3]])
    with fault("line 6 of the sheet", "3 fields, but the header has 2"):
        list(read_rows(path))


def test_excel_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_sheets(tmp_path / "train.xlsx", tickets=[["text", "label"], ["a", "b", "c"]])
    with fault("line 2 of the sheet", "3 fields, but the header has 2"):
        list(read_rows(path))
    cut(path)
    with fault(str(path), "damaged or not an Excel workbook"):
        list(read_rows(path))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with fault(str(path), "pip install 'modeling-scratch[excel]'"):
        list(read_rows(path))
