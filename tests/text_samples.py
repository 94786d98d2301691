# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Small files of labelled text in every format, and the errors that are expected of broken ones."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import predict
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modeling_scratch.data.labelled_texts import ReviewData, load_splits
from modeling_scratch.data.splits import DataArguments
from modeling_scratch.utils.errors import DataError


def write_csv(path: Path, columns: dict) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle, quoting=csv.QUOTE_ALL).writerows([list(columns), *zip(*columns.values())])


def write_tsv(path: Path, columns: dict) -> None:
    lines = ["\t".join(map(str, fields)) for fields in [list(columns), *zip(*columns.values())]]
    path.write_bytes("\n".join(lines).encode())


def write_json_lines(path: Path, columns: dict) -> None:
    rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=number % 2 == 0) + "\n" for number, row in enumerate(rows)), "utf-8"
    )


def write_parquet(path: Path, columns: dict) -> None:
    pq.write_table(pa.table(columns), path)


WRITERS = {".csv": write_csv, ".tsv": write_tsv, ".jsonl": write_json_lines, ".parquet": write_parquet}


def write(path: Path, columns: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[path.suffix](path, columns)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a csv or jsonl file."""
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle)) if path.suffix == ".csv" else list(map(json.loads, handle))


def reviews(number: int, start: int = 0) -> dict:
    rows = range(start, start + number)
    return {"text": [f"review number {row}" for row in rows], "label": [row % 2 for row in rows]}


def load(folder: Path, **arguments: Any) -> ReviewData:
    return load_splits(DataArguments(data_dir=str(folder), **arguments))


@contextmanager
def fault(*pieces: str) -> Iterator[None]:
    """Expect a DataError of one line that has every piece."""
    with pytest.raises(DataError) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    assert [piece for piece in pieces if piece not in message] == [], message


def predicted(model: object, source: object, output: Path, *options: str) -> list[dict[str, Any]]:
    """What predict.py writes to `output`."""
    predict.main(["--model", str(model), "--input", str(source), "--output", str(output), *options])
    return read(output)
