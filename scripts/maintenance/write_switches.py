# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write the measured differences and the conditions of labs into docs/experiments/switches.md.

python scripts/maintenance/write_switches.py runs/lab-plays runs/lab-demo

A row of the page's table names a field and "`value` against `other`"; the columns after the published claim are tasks.
A lab fills the column of its task. Cells without a measurement get "–".
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from modeling_scratch.lab.report import interval
from modeling_scratch.lab.statistics import Difference
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import write_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "experiments" / "switches.md"
HEADS = re.compile(r"\| switch \| values \| published \| (?P<tasks>.*) \|")
ROW = re.compile(
    r"\| `(?P<field>\w+)` \| `(?P<value>[^`]+)` against `(?P<other>[^`]+)`(?P<note>[^|]*) \| (?P<claim>[^|]*) \|.*"
)
START, END = "<!-- written by scripts/maintenance/write_switches.py -->", "<!-- end -->"
OPPOSITE = {"better": "worse", "worse": "better"}


def main(arguments: Sequence[str] | None = None) -> None:
    folders = sys.argv[1:] if arguments is None else arguments
    if not folders:
        sys.exit("name the folders of labs, as in: write_switches.py runs/lab-plays runs/lab-demo")
    if missing := [folder for folder in folders if not (Path(folder) / "lab.json").is_file()]:
        sys.exit(f"{missing[0]}: no lab.json, which `modeling-scratch lab` writes; name the folders of labs")
    labs = [json.loads((Path(folder) / "lab.json").read_text(encoding="utf-8")) for folder in folders]
    if unfinished := [folder for folder, lab in zip(folders, labs) if "comparisons" not in lab]:
        sys.exit(f"{unfinished[0]}: this lab is not finished; repeat its command")
    try:
        write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), labs))
    except DataError as error:
        sys.exit(str(error))


def filled(page: str, labs: Sequence[Mapping[str, Any]]) -> str:
    """Return the page with the cells of its table, and with the conditions of the labs between the markers."""
    found = HEADS.search(page)
    if found is None or START not in page:
        raise DataError(f"{PAGE.name}: its table or the marker {START} is missing")
    tasks = [head.partition(":")[0] for head in found["tasks"].split(" | ")]
    rows = [_row(line, tasks, labs) for line in page.splitlines()]
    before, _, rest = "\n".join(rows).partition(START)
    written = "\n\n".join(map(_conditions, labs))
    return f"{before}{START}\n\n{written}\n\n{END}{rest.partition(END)[2]}\n"


def _row(line: str, tasks: Sequence[str], labs: Sequence[Mapping[str, Any]]) -> str:
    found = ROW.fullmatch(line)
    if found is None:
        return line
    cells = [
        next(filter(None, (_cell(found.groupdict(), lab) for lab in labs if task_of(lab) == task)), "–")
        for task in tasks
    ]
    start = f"`{found['field']}` | `{found['value']}` against `{found['other']}`{found['note']} | {found['claim']}"
    return f"| {' | '.join([start, *cells])} |"


def task_of(lab: Mapping[str, Any]) -> str:
    return lab["command"]["task"]


def _cell(row: Mapping[str, str], lab: Mapping[str, Any]) -> str | None:
    """Return the difference of a row, turned if the lab compared the values the other way round."""
    for each in lab["comparisons"]:
        values, wanted = (each["value"], each["first"]), (row["value"], row["other"])
        if each["field"] != row["field"] or values not in (wanted, wanted[::-1]):
            continue
        mean, low, high, verdict = (each[name] for name in ("mean", "low", "high", "verdict"))
        if values != wanted:
            mean, low, high = (-each if each is not None else None for each in (mean, high, low))
            verdict = re.sub("better|worse", lambda word: OPPOSITE[word[0]], verdict)
        return f"{interval(each['score'], Difference([], mean, low, high))}; {verdict}"
    return None


def _conditions(lab: Mapping[str, Any]) -> str:
    lines = "\n".join(f"- {line}" for line in [lab["tokens"], *lab["conditions"]])
    return f"### {task_of(lab)}\n\n```sh\n{lab['repeat']}\n```\n\n{lines}"


if __name__ == "__main__":
    main()
