# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The history of the benchmark: a file with one JSON line for each version, date and processor."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ..utils.errors import DataError
from ..utils.files import check_regular, write_text

Entry = Mapping[str, Any]
MEASURED = ("version", "date", "processor")
ROW = ("workload", "setting", "unit", "ours", "peer", "ratio", "ratio_range")


def today(version: str, hardware: str, threads: int) -> dict[str, Any]:
    """Return what a line begins with. hardware: as describe_hardware says it, on a CPU with the threads at its end."""
    processor = hardware.removesuffix(f", {threads} thread{'s' * (threads != 1)}")
    return {"version": version, "date": date.today().isoformat(), "processor": processor, "threads": threads}


def read_history(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a history; none if there is no file. Raises `DataError` with the number of a damaged line."""
    check_regular(path)
    entries = []
    for number, line in enumerate(_lines(path), 1):
        try:
            entry = json.loads(line)
            if not all(entry[key] for key in MEASURED) or not all(set(ROW) <= set(row) for row in entry["rows"]):
                raise ValueError("a key is missing")
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(f"{path}, line {number}: damaged ({error!r})") from error
        entries.append(entry)
    return entries


def append(path: Path, entry: Entry, rows: Sequence[Entry]) -> None:
    """Add a line with rows of results, as the table rounds them. The file is written beside, and renamed."""
    read_history(path)  # damaged lines are named, and kept
    line = json.dumps({**entry, "rows": list(map(_rounded, rows))}, ensure_ascii=False)
    write_text(path, "".join(f"{each}\n" for each in (*_lines(path), line)))


def _lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [line for line in text.split("\n") if line.strip()]


def _rounded(row: Entry) -> dict[str, Any]:
    digits = 3 if row["unit"] == "s" else None  # None gives a whole number
    sides = {side: round(row[side], digits) for side in ("ours", "peer")}
    ratios = {"ratio": round(row["ratio"], 2), "ratio_range": [round(end, 2) for end in row["ratio_range"]]}
    return {key: {**row, **sides, **ratios}[key] for key in ROW}
