# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Parquet in a bounded memory: a few hundred bytes of it can say to repeat a megabyte a million times."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

BATCH_ROWS = 1_000
ROWS_AT_ONCE = 32  # as Python objects, where they are large
MAX_BYTES = 40_000_000  # of one value
FREE_BYTES = 256_000_000  # unpacked without suspicion
MAX_RATIO = 300  # beyond that: unpacked bytes to those on the disk; of text, compression makes 2 to 10


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Iterator[list[dict[str, Any]]]:
    """Rows, a few at a time; raises ValueError where a value, or all of them, are out of proportion to the file."""
    allowed = max(FREE_BYTES, MAX_RATIO * path.stat().st_size)
    metadata = pq.read_metadata(path)
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    _check(max((chunk.total_uncompressed_size for chunk in chunks), default=0), allowed)
    repeated = {
        chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page and "." not in chunk.path_in_schema
    }
    unpacked = 0
    with pq.ParquetFile(path, read_dictionary=sorted(repeated)) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=columns):
            size = sum(map(_unpacked_bytes, batch.columns))
            unpacked += size
            _check(unpacked, allowed)
            at_once = BATCH_ROWS if size < MAX_BYTES else ROWS_AT_ONCE
            yield from (batch.slice(start, at_once).to_pylist() for start in range(0, len(batch), at_once))


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
