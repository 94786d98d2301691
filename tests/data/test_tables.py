# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables as they come: what was written comes back from every format, and what is broken is said with its place."""

import bz2
import csv
import gzip
import lzma
import random
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from text_samples import WRITERS, fault, load, reviews, write

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments, find_splits
from modeling_scratch.data.tables import TableForm, open_table, read_rows
from modeling_scratch.data.text_files import MAX_FIELD_CHARACTERS

TEXTS = ["plain", "one, two; three", 'a "quote"', "two\nlines | a tab\t", "", "ünï ☃", "a;b;c", "x,y"]
TEXT_WRITERS = [suffix for suffix in WRITERS if suffix != ".parquet"]
NASTY = [
    "plain", " padded ", '"', '""', "'", ",", ";", "\\", "\\n", "a\tb", "a\nb", "a\r\nb", "a\rb", '",\n"',
    "#", "nan", "NULL", "é", "日本語", "👩‍👩‍👧", "e\u0301", "\u2028 \u2029 \x85", "\x0b\x0c\x1c", "\ufeff", "\x7f",
    "{}", "[1]", "a\0b", "0", "<br />",
]  # fmt: skip
SEPARATORS = [("a.csv", ","), ("a.tsv", "\t")]
BREAKS_FORMAT = {".csv": "\0", ".tsv": "\0\t\r\n", ".jsonl": "", ".parquet": ""}


def rows_of(path: Path, form: TableForm | None = None) -> list[dict]:
    """The rows, which are numbered from 1 and say their file."""
    found = list(read_rows(path, None, *([form] if form else [])))
    assert [(row.number, row.where.partition(" (line ")[0]) for row in found] == [
        (number, f"{path.name}, row {number}") for number in range(1, len(found) + 1)
    ]
    return [dict(row.values) for row in found]


def texts_of(path: Path, form: TableForm | None = None) -> list[str]:
    return [row["text"] for row in rows_of(path, form)]


def write_text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# What was written comes back


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_text_comes_back_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(0)
    texts = NASTY + ["".join(rng.choices(NASTY, k=rng.randint(2, 6))) for _ in range(300)] + ["word " * 200_000]
    texts = [text for text in texts if not set(text) & set(BREAKS_FORMAT[suffix])]
    path = write(tmp_path / f"data{suffix}", {"id": list(range(len(texts))), "text": texts})
    assert texts_of(path) == texts
    if suffix != ".parquet":  # a byte order mark is no part of the data
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert texts_of(path) == texts


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.csv", {}), ("a.tsv", {"sep": "\t"}), ("b.tsv", {"sep": ";"}), ("a.csv", {"encoding": "utf-16", "sep": ";"}),
        ("a.parquet", {}), ("a.xlsx", {}),
        *((name, {"sep": sep, "escapechar": "\\", "doublequote": False}) for name, sep in SEPARATORS),
        *(("a.json", {"orient": orient}) for orient in ("columns", "records")),
        ("a.json", {"orient": "table", "index": False}),
        *((name, {"orient": "records", "lines": True}) for name in ("a.json", "a.jsonl", "a.ndjson")),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_pandas_writes_is_read(tmp_path: Path, name: str, options: dict) -> None:
    texts = ['He said ""hi""', '"all quoted"', "a, b\tc", "two\nlines", "C:\\new\\"]
    table = pd.DataFrame({"text": texts, "label": ["b", "a", "a", "b", "a"]})
    writers = {".parquet": table.to_parquet, ".xlsx": table.to_excel, ".csv": table.to_csv, ".tsv": table.to_csv}
    write = writers.get((tmp_path / name).suffix, table.to_json)
    write(tmp_path / name, **({} if "json" in name else {"index": False}) | options)
    assert rows_of(tmp_path / name) == table.to_dict("records")
    if options.get("escapechar") and name == "a.csv":  # a later backslash that escapes nothing is not lost
        (tmp_path / name).write_text((tmp_path / name).read_text() + "x,b\n" * 300 + "C:\\new,a\n")
        with fault("row 306 (line 308): \\n is no escape"):
            rows_of(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "delimiter", "further"),
    [("a.tsv", "\t", []), ("a.tsv", "\t", ['"""']), ("a.csv", "\t", ['"""']), ("a.csv", "|", ['"""'])],
)
def test_quotes_may_be_literal_and_gaps_those_of_databases(tmp_path: Path, name, delimiter, further) -> None:
    """GLUE's files have unbalanced quotes, with whole rows between two of them."""
    texts = ['"He said, well', "she said", 'they said"', '"all"', 'a \\"b', *further, "\\N", "C:\\N"]
    lines = [delimiter.join(row) for row in [("text", "label"), *((text, "a") for text in texts)]]
    path = write_text(tmp_path / name, "\n".join(lines))
    assert texts_of(path) == [text.removeprefix("\\N") for text in texts]


@pytest.mark.parametrize(
    ("name", "encoding"), [("a.csv", "cp1252"), ("a.tsv", "utf-16"), ("a.jsonl", "gbk"), ("a.jsonl", "utf-16")]
)
def test_another_encoding_is_read_where_it_is_given(tmp_path: Path, name: str, encoding: str) -> None:
    texts = [f"{'naïve “€”' if encoding == 'cp1252' else '好的'} text {row}" for row in range(30)]
    path = write(tmp_path / name, {"text": texts, "label": ["a", "b"] * 15})
    path.write_bytes(path.read_text("utf-8").encode(encoding))
    assert texts_of(path, TableForm(encoding=encoding)) == texts
    if encoding == "utf-16":  # whose byte order mark tells it
        assert texts_of(path) == texts
    for given, wrong in ((None, "UTF-8"), ("ascii", "ascii")):
        if given or encoding != "utf-16":
            with fault(name, f"not valid {wrong}; give its encoding, such as --encoding cp1252"):
                texts_of(path, TableForm(encoding=given))
    path.write_bytes(path.read_bytes().decode(encoding).encode("utf-8-sig"))
    assert texts_of(path, TableForm(encoding="UTF8")) == texts


# Delimiters


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_said_and_can_be_set(tmp_path: Path, delimiter: str) -> None:
    path, option = tmp_path / "train.csv", "tab" if delimiter == "\t" else delimiter
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, delimiter=delimiter).writerows([["id", "text"], *enumerate(TEXTS)])
    note = f"train.csv: the delimiter {delimiter!r} was found from the first records; set --delimiter to change this"
    for form, notes in ((TableForm(), (note,) * (delimiter != ",")), (TableForm(option), ())):
        assert texts_of(path, form) == TEXTS
        assert open_table(path, form).notes == notes
    write_text(path, f"{path.read_text('utf-8')}{delimiter.join('abc')}\n")
    with fault("3 fields, but the header has 2", *[note] * (delimiter != ",")):
        load(tmp_path)


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
        ("text ;\tlabel\na;b\n", ["text", "label"]),  # without blanks at their ends
        ("a;b\n1,5;2,5\n", ["a", "b"]),
        ('a, "b"\n1, "2"\n', ["a", "b"]),  # blanks before the quotes
        ("a,,\n1,,\n", ["a", "column_2", "column_3"]),
        ("\ufeff\ufeffa,b\n1,2\n", ["a", "b"]),
        ('a;b\n"' + "one, of many lines\n" * 999 + '";2\n', ["a", "b"]),
    ],
)
def test_only_an_unambiguous_delimiter_is_found(tmp_path: Path, content: str, columns: list[str]) -> None:
    assert list(next(read_rows(write_text(tmp_path / "data.csv", content))).values) == columns


# Compressed files


PACKERS = {".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress, ".xz": lzma.compress}


def packed(path: Path, suffix: str = ".gz") -> Path:
    return write_text(path.rename(f"{path}{suffix}"), PACKERS[suffix](Path(f"{path}{suffix}").read_bytes()))


@pytest.mark.parametrize(("suffix", "packer"), [*zip(TEXT_WRITERS, PACKERS)])
def test_compressed_files_are_read_as_plain_ones(tmp_path: Path, suffix: str, packer: str) -> None:
    path = write(tmp_path / f"train{suffix}", reviews(50))
    plain = rows_of(path)
    assert rows_of(packed(path, packer)) == plain
    assert find_splits(tmp_path)["train"] == [tmp_path / f"train{suffix}{packer}"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, lambda path: path.write_bytes(b"text,label\na,1\n")])
def test_damaged_archives_are_refused(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = packed(write(tmp_path / "data.csv", reviews(500)))
    damage(path)
    with fault(str(path), "damaged"):
        rows_of(path)
    with fault("unknown format", ".gz, .bz2, .xz", "unpack an archive"):
        rows_of(path.rename(tmp_path / "data.zip"))


def test_what_expands_without_end_is_refused(tmp_path: Path) -> None:
    path = write_text(tmp_path / "bomb.jsonl.gz", gzip.compress(b" " * 9_999_999 + b"\n", mtime=0) * 26)
    with fault(str(path), "expands to more than 256 MB"):
        rows_of(path)
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/sheet1.xml", "w") as part:
        for _ in range(26):
            part.write(bytes(10_000_000))
    with fault(str(path), "expands to more than 256 MB"):
        rows_of(path)


# Excel


def write_sheets(path: Path, **sheets: list[list[object]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, records in sheets.items():
        sheet = workbook.create_sheet(name)
        for record in records:
            sheet.append(record)
    workbook.save(path)
    return path


def test_excel_is_read_as_the_csv_of_its_sheet_with_the_rows_of_pandas(tmp_path: Path) -> None:
    """A table may start anywhere in its sheet."""
    records = [
        ["id", "text", "label", "date"],
        [1, "first; text", "a", datetime(2024, 5, 1)],
        [],
        [2.0, "second\nline", True, datetime(2024, 5, 1, 12, 30)],
        [3.5, "#N/A", "b"],  # an error of a formula
    ]
    moved = [[], *([None, *record] for record in records)]
    path = write_sheets(tmp_path / "data.xlsx", tickets=records, moved=moved)
    expected = [
        {"id": "1", "text": "first; text", "label": "a", "date": "2024-05-01"},
        {"id": "", "text": "", "label": "", "date": ""},
        {"id": "2", "text": "second\nline", "label": "True", "date": "2024-05-01 12:30:00"},
        {"id": "3.5", "text": "", "label": "b", "date": ""},
    ]
    assert rows_of(path) == rows_of(path, TableForm(sheet="moved")) == expected
    assert len(pd.read_excel(path)) == len(expected)
    places = [row.where for row in read_rows(path, None, TableForm(sheet="moved"))]
    assert places == [f"data.xlsx, row {row} (line {row + 2})" for row in range(1, 5)]  # as Excel numbers them
    assert "the first sheet, 'tickets', is read; its other sheets are 'moved' (--sheet)" in open_table(path).notes[0]
    with fault(str(path), "no sheet 'none'", "'tickets', 'moved'"):
        rows_of(path, TableForm(sheet="none"))


def test_excel_that_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_sheets(tmp_path / "train.xlsx", tickets=[["text", "label"], ["a", "b", "c"]])
    with fault("(line 2): 3 fields, but the header has 2; name the line of the header by --header_row"):
        rows_of(path)
    cut(path)
    with fault(str(path), "damaged or not an Excel workbook"):
        rows_of(path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with fault(str(path), "pip install 'modeling-scratch[excel]'"):
        rows_of(path)


# Faults


@pytest.mark.parametrize(
    ("name", "content", "pieces"),
    [
        ("a.csv", b"", ["a.csv", "no rows"]),
        ("a.txt", b"some text", ["unknown format", ".csv", ".parquet"]),
        ("a.csv", b"text,label\nok,1\ncaf\xe9,0\n", ["line 3, character 4", "iconv -f cp1252 -t utf-8"]),
        ("a.jsonl", b'{"text": "caf\xe9"}\n', ["line 1, character 14", "iconv"]),
        ("a.csv", "text,label\nok,1\n".encode("utf-16-le"), ["header: contains a NUL byte", "utf-16-le"]),
        ("a.csv", b"text,label\nok,1\nwith, comma,0\n", ["row 2 (line 3)", "3 fields", "header has 2"]),
        ("a.csv", b"id;text\n1;a, b\n2;b;c\n3;d\n", ["row 2 (line 3)", "3 fields", "header has 2"]),
        ("a.csv", b"id#text\n1#a, b\n", ["fields", "set --delimiter"]),
        ("a.csv", b'text,label\n"two\nlines",1\nshort\n', ["row 2 (line 4)", "1 field,"]),
        ("a.csv", b'text,label\nok,1\n"open,0\nmore,1\n', ["row 2 (line 3)", "quote"]),
        ("a.csv", b'text,label\n"a "bad" quote",0\n', ["row 1 (line 2)", "quote"]),
        ("a.csv", b"text,label\nok,1\nn\0l,0\n", ["row 2 (line 3)", "NUL"]),
        ("a.csv", b"text,text,label\na,b,1\n", ["duplicate column names", "'text'"]),
        ("a.csv", b"text,label\nok,1\n" + b"x" * (MAX_FIELD_CHARACTERS + 1) + b",0\n", ["row 2 (line 3)", "limit"]),
        ("a.jsonl", b'{"text": "ok"}\n{"text": \n', ["line 2", "invalid JSON"]),
        ("a.jsonl", b'{"text": "ok"}\n' + b"[" * 100_000, ["line 2", "invalid JSON"]),
        ("a.jsonl", b'{"text": "half \\ud83d a pair"}\n', ["line 1", "surrogates"]),
        ("a.jsonl", b'{"text": "a", "text": "b"}\n', ["line 1", "duplicate key 'text'"]),
        ("a.jsonl", b'[{"text": "ok"}]', ["line 1", "JSON list", ".json"]),
        ("a.json", b'[{"text": "ok"}, 3]', ["a.json[1]: int, but expected an object"]),
        ("a.json", b'[{"text": "ok"},\n', ["line 2 column 1", "invalid JSON"]),
        ("a.parquet", b"text,label\nok,1\n", ["a.parquet", "not Parquet"]),
        ("a.csv", b"PAR1\x15\x04\x15", ["the bytes are those of a Parquet file"]),
        ("a.jsonl", b"\x89PNG\r\n\x1a\n", ["the bytes are those of a picture"]),
        ("a.csv", b"\x93NUMPY\x01\0v\0{'descr'", ["line 1, character 1", "the bytes are not those of a text"]),
        ("a.csv", b"<!DOCTYPE html>\n<html>Sign in</html>\n", ["the bytes are those of a web page"]),
        ("a.csv", b'"text" "label"\n"1" "good" "a"\n', ["header", "set --delimiter"]),
        ("a.ods", b"PK\x03\x04", ["unknown format", "save a sheet as .xlsx"]),
    ],
    ids=range(28),
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, name: str, content: bytes, pieces: list[str]) -> None:
    path = write_text(tmp_path / name, content)
    with fault(str(path), *pieces):
        rows_of(path)


def test_what_is_missing_is_named_and_answered_with_the_closest(tmp_path: Path) -> None:
    for suffix in WRITERS:
        with fault(str(tmp_path / f"none{suffix}"), "file not found"):
            rows_of(tmp_path / f"none{suffix}")
        path = write(tmp_path / f"data{suffix}", {"sentence": ["a"], "label": [1]})
        with fault(str(path), "no column 'sentense'", "'sentence', 'label'", "did you mean 'sentence'?"):
            list(read_rows(path, ["sentense"]))
    lines = write_text(tmp_path / "data.jsonl", '{"text": "a", "label": 1}\n\n{"text": "b"}\n')
    with fault("row 3", "no column 'label'"):
        list(read_rows(lines, ["text", "label"]))
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), path)
    with fault(str(path), "duplicate column names", "'text'"):
        rows_of(path)
    with fault(str(tmp_path / "none"), "folder not found"):
        load(tmp_path / "none")


# Tables without a header, or with lines above it


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("a.csv", [f"{row % 2},dull film number {row}" for row in range(40)]),
        ("a.csv", [f"{row},dull film number {row},{'ab'[row % 2]}" for row in range(40)]),  # an index of pandas
        ("a.csv", ["\ufeff0,dull film", *(f"{row % 2},film number {row}" for row in range(1, 40))]),
        ("a.csv", [f"{row + 0.5};film number {row}" for row in range(40)]),  # numbers, none of them twice
        ("a.tsv", [f"film number {row}\t{'ab'[row % 2]}" for row in range(40)]),
        ("a.csv", [f"{row % 2},这部电影第{row}集很好看" for row in range(40)]),
        ("a.tsv", [f"a premise {row}\ta claim {row}\t{'ab'[row % 2]}" for row in range(40)]),
    ],
)
def test_the_first_row_of_a_table_without_a_header_is_data(tmp_path: Path, name: str, lines: list[str]) -> None:
    path = write_text(tmp_path / name, "\n".join(lines))
    columns = len(rows_of(path)[0])
    assert [*rows_of(path)[0]] == [f"column_{number}" for number in range(1, columns + 1)]
    assert len(rows_of(path)) == 40 == len(rows_of(path, TableForm(no_header=True)))
    assert len(rows_of(path, TableForm(header_row=1))) == 39
    pairs = ["column_1", "column_2"] if columns == 3 and name == "a.tsv" else None
    data = load_splits(DataArguments(train_file=str(path), text_column=pairs))
    assert sum(map(len, data.splits.values())) == 40
    assert "no header: the first line is read as a row" in data.describe()


@pytest.mark.parametrize(
    "content",
    [
        "text,label\nlabel,text\n",
        "review text,rating 1\n5,1\n",
        "2019,2020,country name\n3,4,France\n",
        "0,1\ngood film,1\n",  # pandas' names of columns without names
        "label,the text of it\n0,a film\nlabel,the text of it\n",  # two files behind each other
        ",text,label\n0,good film,1\n",
    ],
)
def test_names_of_columns_are_no_row(tmp_path: Path, content: str) -> None:
    path = write_text(tmp_path / "a.csv", content)
    assert [*rows_of(path)[0]] == content.splitlines()[0].split(",")


def test_splits_are_read_without_a_header_as_train_is(tmp_path: Path) -> None:
    write_text(tmp_path / "train.csv", "".join(f"{'ab'[row % 2]},film number {row}\n" for row in range(9)))
    write_text(tmp_path / "validation.csv", "a,other film\nb,third film\n")
    assert load(tmp_path).texts("validation") == ["other film", "third film"]


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_the_header_may_be_below_a_title(tmp_path: Path, name: str) -> None:
    rows = [["Reviews of 2024"], [], ["text", "label"], ["good", "1"], ["bad", "0"]]
    path = write_text(tmp_path / "a.csv", "\n".join(map(",".join, rows)))
    path = path if name == "a.csv" else write_sheets(tmp_path / name, reviews=rows)
    with fault(name, "but the header has 1", "--header_row"):
        rows_of(path)
    assert rows_of(path, TableForm(header_row=3)) == [dict(zip(rows[2], row)) for row in rows[3:]]
    with fault("--header_row 0"):
        TableForm(header_row=0)


def test_a_first_line_of_excel_names_the_delimiter(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "sep=;\ntext;label\na, b;1\n")
    assert rows_of(path) == [{"text": "a, b", "label": "1"}]
    assert [*rows_of(path, TableForm(no_header=True))[0].values()] == ["text", "label"]
    assert open_table(path).notes == ()  # nothing had to be found


def test_only_names_that_were_found_are_doubted(tmp_path: Path) -> None:
    rows = {"what the customer said": [f"text {row}" for row in range(20)], "its usual label": ["a", "b"] * 10}
    write(tmp_path / "train.csv", rows)
    given = dict(zip(("text_column", "label_column"), rows))
    for options, doubted in (({}, 2), ({"text_column": given["text_column"]}, 1), (given, 0)):
        notes = load(tmp_path, **options).notes
        assert sum("is read as the name of a column" in note for note in notes) == doubted
    path = write(tmp_path / "a.csv", {"great0": [f"text{row}" for row in range(20)], "pos": ["pos", "neg"] * 10})
    notes = load_splits(DataArguments(train_file=str(path))).notes
    assert "'pos' is read as the name of a column; if it is a row, set --no_header" in notes
