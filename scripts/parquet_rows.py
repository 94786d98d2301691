# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Parquet in a bounded memory: a few hundred bytes of it can say to repeat a megabyte a million times."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

BATCH_ROWS = 1_000
BATCH_BYTES = 10_000_000  # of values that grow while they are read, which takes several times as much
ROWS_AT_ONCE = 32  # as Python objects, where they are large
MAX_BYTES = 40_000_000  # of one value
FREE_BYTES = 256_000_000  # unpacked without suspicion
MAX_RATIO = 300  # beyond that: unpacked bytes to those on the disk; of text, compression makes 2 to 10
OBJECT_BYTES = 64  # of a value in Python, however small


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Rows, a few at a time; raises ValueError where a value, or all of them, are out of proportion to the file."""
    allowed = max(FREE_BYTES, MAX_RATIO * path.stat().st_size)
    metadata = pq.read_metadata(path)
    repeated, rows = set(), BATCH_ROWS
    for index in range(metadata.num_columns):
        column = metadata.schema.column(index)
        if columns is not None and not any(f"{column.path}.".startswith(f"{name}.") for name in columns):
            continue
        for chunk in (metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)):
            largest = _largest_value(chunk, column.length)
            rows = min(rows, max(1, BATCH_BYTES // largest))
            in_lists = chunk.num_values if column.max_repetition_level else 0  # a row may have them all
            _check(chunk.total_uncompressed_size + in_lists * largest, allowed)
            repeated |= {index} if chunk.has_dictionary_page else set()
    unpacked = 0
    with pq.ParquetFile(path, read_dictionary=sorted(repeated)) as file:
        for batch in file.iter_batches(rows, columns=columns):
            size = sum(_unpacked_bytes(values) for column in batch.columns for values in _values(column))
            unpacked += size
            _check(unpacked, allowed)
            at_once = BATCH_ROWS if size < MAX_BYTES else ROWS_AT_ONCE
            yield from (batch.slice(start, at_once).to_pylist() for start in range(0, len(batch), at_once))


def _largest_value(chunk: pq.ColumnChunkMetaData, length: int) -> int:
    """Bytes that one value can take beside what its chunk holds; length: of values that have all the same."""
    shares_beginnings = "DELTA_BYTE_ARRAY" in chunk.encodings  # each value with the one before it
    return max(OBJECT_BYTES, length, chunk.total_uncompressed_size if shares_beginnings else 0)


def _values(column: pa.Array) -> Iterator[pa.Array]:
    """What a column holds in the end: itself, or that of its lists and members."""
    if isinstance(column, pa.MapArray):
        parts = [pa.ListArray.from_arrays(column.offsets, part).flatten() for part in (column.keys, column.items)]
    elif isinstance(column, pa.StructArray):
        parts = column.flatten()
    elif pa.types.is_nested(column.type):
        parts = [column.flatten()]
    else:
        yield column
        return
    for part in parts:
        yield from _values(part)


def _check(unpacked: int, allowed: int) -> None:
    if unpacked > allowed:
        raise ValueError(f"it unpacks to more than {allowed / 1e6:,.0f} MB, as no data of this size on the disk does")


def _unpacked_bytes(column: pa.Array) -> int:
    """Of its rows, each value counted as often as it is there; raises ValueError for one that is too long."""
    if not pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column) if _is_text(column.type) else None
        total = column.nbytes
    else:
        lengths = pc.binary_length(column.dictionary).take(column.indices) if _is_text(column.type.value_type) else None
        total = column.indices.nbytes
    if lengths is None:
        return total
    if (longest := pc.max(lengths).as_py() or 0) > MAX_BYTES:
        raise ValueError(f"one value has {longest:,} bytes, more than the {MAX_BYTES:,} that are read")
    return pc.sum(lengths).as_py() or 0


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))
