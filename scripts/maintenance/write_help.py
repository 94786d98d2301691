# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate help/NAME.txt, the output of `modeling-scratch NAME --help`, from the programs' parsers.

python scripts/maintenance/write_help.py
"""

import os
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from modeling_scratch_cli.__main__ import PROGRAMS, run

FOLDER = Path(__file__).resolve().parents[1]  # not that of an installation elsewhere
WIDTH = 100


def parser_help(name: str) -> str:
    """The help of a program, printed by its own parser."""
    os.environ["COLUMNS"] = str(WIDTH)
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        run(name, ["--help"])
    return printed.getvalue()


def main() -> None:
    for name in PROGRAMS:
        (FOLDER / "help" / f"{name}.txt").write_text(parser_help(name), encoding="utf-8")


if __name__ == "__main__":
    main()
