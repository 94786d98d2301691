# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The history of the benchmark: a file with one JSON line for each version, date and processor."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..utils.errors import DataError
from ..utils.files import check_regular, write_text

Entry = Mapping[str, Any]
MEASURED = ("version", "date", "processor", "rows")
ROW = ("workload", "setting", "ours", "peer", "ratio", "ratio_range")


def read_history(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a history; none if there is no file. Raises `DataError` with the number of a damaged line."""
    check_regular(path)
    entries = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), 1):
        try:
            entry = json.loads(line)
            if not set(MEASURED) <= set(entry) or not all(set(ROW) <= set(row) for row in entry["rows"]):
                raise ValueError("a key is missing")
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}, line {number}: damaged ({error!r})") from error
        entries.append(entry)
    return entries


def append(path: Path, entry: Entry, rows: Sequence[Entry]) -> None:
    """Add a line with rows of results, as the table rounds them. The file is written beside, and renamed."""
    entries = [*read_history(path), {**entry, "rows": [_rounded(row) for row in rows]}]
    write_text(path, "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in entries))


def _rounded(row: Entry) -> dict[str, Any]:
    sides = {side: round(row[side]) for side in ("ours", "peer")}
    ratios = {"ratio": round(row["ratio"], 2), "ratio_range": [round(end, 2) for end in row["ratio_range"]]}
    return {key: {**row, **sides, **ratios}[key] for key in ROW}
