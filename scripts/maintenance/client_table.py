# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run tests/clients in this environment, and write the results into the table of docs/experiments/clients.md.

python scripts/maintenance/client_table.py                       # every client that is installed here
python scripts/maintenance/client_table.py --only trl peft       # these alone

Rows of clients that are not installed, or not asked for, stay as they are: clients that cannot be installed together
are run in several environments.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from modeling_scratch.utils.files import write_text

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "experiments" / "clients.md"
START, END = "<!-- table of clients -->", "<!-- end of the table -->"
COLUMNS = ["client", "version", "what is compared", "native models", "result", "date"]


class Row(NamedTuple):
    client: str
    version: str
    compared: str
    peer: str
    result: str
    date: str

    @property
    def key(self) -> tuple[str, str]:
        return self.client, self.compared


class Rows:
    """A plugin of pytest: one row for each test function that has the mark `client`."""

    def __init__(self, only: Sequence[str]) -> None:
        self.only = only
        self.rows: dict[str, Row] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        marks = [(item, item.get_closest_marker("client")) for item in items]
        items[:] = [item for item, mark in marks if mark and (not self.only or mark.args[0] in self.only)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        if report.failed or (report.passed and report.when == "call"):
            self.add(item, report)
        return report

    def add(self, item: Any, report: Any) -> None:
        """A test of several cases fails as a whole if one fails."""
        mark, name = item.get_closest_marker("client"), item.function.__qualname__
        known = self.rows.get(name)
        if known is not None and known.result.startswith("fails:"):
            return
        result = mark.kwargs["result"]
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1]
            result = f"fails: `{item.name}`, {last.replace('|', '/')[:100]}"
        compared = item.function.__doc__.strip().splitlines()[0]
        today = date.today().isoformat()
        client = mark.args[0]
        self.rows[name] = Row(client, version(client), compared, mark.kwargs["peer"], result, today)


def read_rows(text: str) -> list[Row]:
    """The rows of the table, if the page has one."""
    lines = [line for line in text.strip().splitlines() if line.startswith("|")][2:]
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines]


def table(rows: list[Row]) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def merged(old: list[Row], new: list[Row]) -> list[Row]:
    """Rows by client; a new one in place of the old one for the same."""
    rows = {row.key: row for row in [*old, *new]}
    return sorted(rows.values(), key=lambda row: (row.client.lower(), row.compared))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--only", nargs="+", default=[], metavar="CLIENT", help="Names on PyPI.")
    given = parser.parse_args(arguments)
    found = Rows(given.only)
    tests = [str(ROOT / "tests" / "clients"), "--rootdir", str(ROOT), "-m", "slow", "-p", "no:cacheprovider"]
    status = pytest.main(tests, plugins=[found])
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    inside, _, after = rest.partition(END)
    rows = merged(read_rows(inside), list(found.rows.values()))
    write_text(PAGE, f"{before}{START}\n{table(rows)}\n{END}{after}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
