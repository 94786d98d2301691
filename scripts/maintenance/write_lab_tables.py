# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write the tables of labs, with their commands and conditions, into docs/experiments/switches.md.

python scripts/maintenance/write_lab_tables.py runs/lab-sst2 runs/lab-imdb
"""

import json
import re
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from modeling_scratch.lab.report import MARKDOWN, RECORD
from modeling_scratch.utils.files import write_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "experiments" / "switches.md"
START, END = "<!-- written by scripts/maintenance/write_lab_tables.py -->", "<!-- end -->"
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
TOLD = "parameters: ", "hardware: "  # the conditions that are shown, by their first words


def main(arguments: Sequence[str] | None = None) -> None:
    folders = [Path(folder) for folder in (sys.argv[1:] if arguments is None else arguments)]
    if not folders or (missing := [folder for folder in folders if not (folder / MARKDOWN).is_file()]):
        sys.exit(f"{missing[0] if folders else 'no folder'}: no {MARKDOWN}; name the folders of finished labs")
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), [section_of(folder) for folder in folders]))


def filled(page: str, sections: Sequence[str]) -> str:
    """Return the page with these sections between its markers."""
    before, _, rest = page.partition(START)
    return "\n\n".join([f"{before}{START}", *sections, f"{END}{rest.partition(END)[2]}"])


def section_of(folder: Path) -> str:
    """Return the tables of the report of a lab, its command, its day, and what has to be known of them."""
    path = folder / MARKDOWN
    lab: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    tables = "\n".join(TABLE.findall(path.read_text(encoding="utf-8"))).strip()
    told = [lab["tokens"], *(line for line in lab["conditions"] if line.startswith(TOLD))]
    told.append(f"date: {date.fromtimestamp(path.stat().st_mtime)}")
    lines = "\n".join(f"- {line}" for line in told)
    return f"### {lab['command']['task']}\n\n```sh\n{lab['repeat']}\n```\n\n{tables}\n\n{lines}"


if __name__ == "__main__":
    main()
