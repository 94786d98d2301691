# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Reading a file: what was written comes back, and what is broken is said with its place."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from text_samples import WRITERS, fault, load, reviews, write

from modeling_scratch.data.rows import read_rows
from modeling_scratch.data.tables import MAX_FIELD_CHARACTERS

NASTY = [
    "plain", " padded ", '"', '""', "'", ",", ";", "\\", "\\n", "a\tb", "a\nb", "a\r\nb", "a\rb", '",\n"',
    "#", "nan", "NULL", "é", "日本語", "👩‍👩‍👧", "e\u0301", "\u2028 \u2029 \x85", "\x0b\x0c\x1c", "\ufeff", "\x7f",
    "{}", "[1]", "a\0b", "0", "<br />",
]  # fmt: skip
BREAKS_FORMAT = {".csv": "\0", ".tsv": "\0\t\r\n", ".jsonl": "", ".parquet": ""}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_text_comes_back_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(0)
    texts = NASTY + ["".join(rng.choices(NASTY, k=rng.randint(2, 6))) for _ in range(300)] + ["word " * 200_000]
    texts = [text for text in texts if not set(text) & set(BREAKS_FORMAT[suffix])]
    path = write(tmp_path / f"data{suffix}", {"id": list(range(len(texts))), "text": texts})
    assert list(read_rows(path, ["text"])) == [(row, {"text": text}) for row, text in enumerate(texts, 1)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"data{suffix}", reviews(2))
    plain = list(read_rows(path))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert list(read_rows(path)) == plain


def test_parquet_is_read_across_batches_and_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"text": [str(row) for row in range(1, 2502)]}), path, row_group_size=700)
    assert all(values["text"] == str(row) for row, values in read_rows(path))
    assert [row for row, _ in read_rows(path)] == list(range(1, 2502))


@pytest.mark.parametrize(
    ("name", "content", "pieces"),
    [
        ("a.csv", b"", ["a.csv", "no rows"]),
        ("a.jsonl", b"\n\n", ["no rows"]),
        ("a.txt", b"some text", ["unknown format", ".csv", ".parquet"]),
        ("a.csv", b"text,label\nok,1\ncaf\xe9,0\n", ["line 3, byte 3", "iconv -f cp1252 -t utf-8"]),
        ("a.jsonl", b'{"text": "caf\xe9"}\n', ["line 1, byte 13", "iconv"]),
        ("a.csv", b"text,label\nok,1\ncut \xe2\x82", ["line 3, byte 4"]),
        ("a.csv", "text,label\nok,1\n".encode("utf-16"), ["line 1, byte 0", "iconv -f utf-16 -t utf-8"]),
        ("a.csv", b"text,label\nok,1\nwith, comma,0\n", ["row 2 (line 3)", "3 fields", "header has 2"]),
        ("a.csv", b'text,label\n"two\nlines",1\nshort\n', ["row 2 (line 4)", "1 fields"]),
        ("a.csv", b'text,label\nok,1\n"open,0\nmore,1\n', ["row 2 (line 3)", "quote"]),
        ("a.csv", b'text,label\n"a "bad" quote",0\n', ["row 1 (line 2)", "quote"]),
        ("a.csv", b"text,label\nok,1\nn\0l,0\n", ["row 2 (line 3)", "NUL"]),
        ("a.csv", b"text,text,label\na,b,1\n", ["duplicate column names", "'text'"]),
        ("a.tsv", b"sentence\tlabel\na\tb\t1\n", ["row 1 (line 2)", "3 fields"]),
        ("a.jsonl", b'{"text": "ok"}\n{"text": \n', ["line 2", "invalid JSON"]),
        ("a.jsonl", b'{"text": "ok"}\n' + b"[" * 100_000, ["line 2", "invalid JSON"]),
        ("a.jsonl", b'{"text": "half \\ud83d a pair"}\n', ["line 1", "surrogates"]),
        ("a.json", b'[{"text": "ok"}]', ["line 1", "JSON list", "jq -c"]),
        ("a.parquet", b"text,label\nok,1\n", ["a.parquet", "not Parquet"]),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, name: str, content: bytes, pieces: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with fault(str(path), *pieces):
        list(read_rows(path))


def test_a_field_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("text,label\nok,1\n" + "x" * (MAX_FIELD_CHARACTERS + 1) + ",0\n")
    with fault("row 2 (line 3)", "field larger than field limit"):
        list(read_rows(path))


def test_what_is_missing_is_named_and_answered_with_the_closest(tmp_path: Path) -> None:
    for suffix in WRITERS:
        with fault(str(tmp_path / f"none{suffix}"), "file not found"):
            list(read_rows(tmp_path / f"none{suffix}"))
        path = write(tmp_path / f"data{suffix}", {"sentence": ["a"], "label": [1]})
        with fault(str(path), "no column 'sentense'", "'sentence', 'label'", "did you mean 'sentence'?"):
            list(read_rows(path, ["sentense"]))
    path.with_suffix(".jsonl").write_text('{"text": "a", "label": 1}\n\n{"text": "b"}\n')
    with fault("row 3", "no column 'label'"):
        list(read_rows(path.with_suffix(".jsonl"), ["text", "label"]))
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), path)
    with fault(str(path), "duplicate column names", "'text'"):
        list(read_rows(path))
    with fault(str(tmp_path / "none"), "folder not found"):
        load(tmp_path / "none")
