# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables and texts in the containers of Python: pandas, `datasets`, Arrow, NumPy, and lists, dicts and generators."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa

from ..utils.errors import DataError, one_line
from .columns import LABEL_NAMES, TEXT_NAMES
from .tables import missing_column

TABLES = pd.DataFrame, datasets.Dataset
KINDS = "a DataFrame, a Dataset, a dict of columns, or rows: dicts, or (text, label)"


def as_table(data: Any, where: str) -> pd.DataFrame | datasets.Dataset:
    """Return a table of rows, of named columns, or of (text, label). Raises `DataError` for anything else."""
    if isinstance(data, pa.Table):
        return datasets.Dataset(data)
    if isinstance(data, pd.DataFrame) and not data.columns.is_unique:
        repeated = ", ".join(map(repr, data.columns[data.columns.duplicated()].unique()))
        raise DataError(f"{where}: duplicate column names: {repeated}; rename one")
    if isinstance(data, TABLES):
        return data
    why = ""
    try:
        if isinstance(data, Mapping):
            return pd.DataFrame({name: _listed(values) for name, values in data.items()})
        rows = _listed(data)
        if all(isinstance(row, Mapping) for row in rows):
            return pd.DataFrame(rows)
        if all(not isinstance(row, str) and len(row) == 2 for row in rows):
            return pd.DataFrame(map(list, rows), columns=[TEXT_NAMES[0], LABEL_NAMES[0]])
    except (TypeError, ValueError) as error:
        why = f" ({one_line(error)})"
    raise DataError(f"{where}: cannot read the {type(data).__name__} as a table{why}; give {KINDS}")


def is_splits(data: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Return whether a mapping is one of splits, and not of columns."""
    return data.keys() <= set(names) or any(isinstance(value, (*TABLES, pa.Table)) for value in data.values())


def texts_in(data: Any, columns: Sequence[str], where: str) -> list[Any]:
    """Return the texts of a container, or its pairs: those of a table are in the columns with these names.

    A table with one column, where one is asked for, may name it otherwise. A string is one text, and a dict of strings
    one row. Raises `DataError` for a table without the columns, and for what has no texts.
    """
    if _is_file(data):
        raise DataError(f"{where}: {data} is a file; give its table, such as that of `pandas.read_csv`")
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping) and all(isinstance(value, str) for value in data.values()):
        data = [data]
    if not isinstance(data, (*TABLES, pa.Table, Mapping)):
        data = _listed(data, where)
        if not data or not all(isinstance(row, Mapping) for row in data):
            return data
    table = as_table(data, where)
    names = list(table.column_names if isinstance(table, datasets.Dataset) else table.columns)
    found = columns or [name for name in names if str(name).lower() in TEXT_NAMES]
    found = names if len(names) == 1 == len(found or names) else found
    for name in found or TEXT_NAMES[:1]:
        if names.count(name) != 1:
            raise missing_column(name, names, f"{where} (the model was trained on it)" if columns else where)
    texts = [list(table[name]) for name in found]
    return texts[0] if len(texts) == 1 else list(zip(*texts))


def strings_in(data: Any, where: str) -> list[str]:
    """Return the texts of a container as `texts_in` does. Raises `DataError` for items that are no strings, too."""
    texts = texts_in(data, (), where)
    if others := [text for text in texts if not isinstance(text, str)]:
        raise DataError(f"{where}: {others[0]!r:.40} is not a text")
    return texts


def _is_file(data: Any) -> bool:
    try:
        return isinstance(data, str | Path) and Path(data).is_file()
    except OSError:  # a text, which is too long for the name of a file
        return False


def _listed(values: Any, where: str = "data") -> list[Any]:
    """Return the items of a container. Raises `DataError` for what is none, and for bytes."""
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        return values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)
    except TypeError:
        raise DataError(f"{where}: a {type(values).__name__}, and not a list, a table or another container") from None
