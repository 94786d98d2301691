# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Save models here and load them under other versions of the libraries, and the other way round; print a table.

python scripts/maintenance/version_matrix.py --transformers 5.17.0 newest --torch 2.11.0 --cache ~/.cache/versions

Each version has an environment of its own in the cache, which later runs use again. Here is the environment that runs
this program. A model of each head saves its outputs, generated ids, and outputs after a step of Trainer; whoever loads
it compares. pip takes what it is told by its variables, such as PIP_EXTRA_INDEX_URL for builds of torch without CUDA.
Exit status 1: something differs or fails; a version that the models refuse is no failure.
"""

import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.markdown import escaped, table

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (
    "scripts/maintenance/version_matrix.py --transformers 4.57.6 5.17.0 5.19.0 5.20.2 5.21.1 5.22.2 "
    "--torch 2.11.0 2.12.1 newest --cache ~/.cache/version-matrix"
)
PROBE = Path(__file__).with_name("version_probe.py")
TOLERANCE = 1e-5
NEWEST = "newest"
OTHERS = "accelerate", "numpy", "safetensors"  # that the package or Trainer needs
DIRECTIONS = "saved here, loaded there", "saved there, loaded here"
CODES = "own code", "package"
COLUMNS = ["transformers", "torch", "Python", *(f"{way}, {code}" for way in DIRECTIONS for code in CODES)]
REFUSED = "is too old for this model"
EVERY = "every model"
PAGE = """# Versions

Each row of this table is an environment with other versions of the libraries. Tiny models with random weights are saved
in one environment with their answers and loaded in the other: by the code in the saved folder without modeling-scratch
("own code"), and by modeling-scratch ("package"). There is a model of every head, and models with ALiBi, relative
positions, sliding windows, parallel blocks, sandwich norm and query-key norm. The answers are token ids, outputs,
generated ids, and the outputs after a training step of `Trainer`.

- same: the numbers differ by no more than what stands in brackets, at most {tolerance:.0e}. Ids are equal.
- refused: the version is older than what the models need, and the error says so.
- FAILS: another error, which stands below. pip refuses versions of transformers before 5.17 beside modeling-scratch.

`python {command}`
prints the table; `--output` writes this page. `--python` makes environments of another Python, and `--environment`
names one that exists.

{found}

Not run: versions of libraries and of Python that the table lacks, GPUs, half precision, quantisation, Windows, macOS.
"""


@dataclass
class Row:
    """An environment, its versions, its cells of the table, and what to say of them."""

    versions: dict[str, str]
    cells: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, found: dict[str, Any] | str) -> None:
        """Add the cell of what a reader found: {model: {answer: difference}}, {model: error} or one error."""
        by_model: dict[str, Any] = {EVERY: found} if isinstance(found, str) else found
        errors: dict[str, list[str]] = {}  # the models that have each
        for name, each in by_model.items():
            if isinstance(each, str):
                errors.setdefault(each, []).append(name)
        if errors:
            self.cells.append("refused" if all(REFUSED in error for error in errors) else "FAILS")
            self._note(
                f"{EVERY if len(names) == len(by_model) else '; '.join(names)}: {error}"
                for error, names in errors.items()
            )
            return
        apart = {f"{name}, {what}": value for name, each in by_model.items() for what, value in each.items()}
        wrong = {name: value for name, value in apart.items() if not value <= TOLERANCE}
        self.cells.append("DIFFERENT" if wrong else f"same ({max(apart.values()):.0e})")
        self._note(f"{name}: differs by {value:.1e}" for name, value in wrong.items())

    def _note(self, lines: Iterable[str]) -> None:
        where = COLUMNS[2 + len(self.cells)]
        numbers = f"transformers {self.versions['transformers']}, torch {self.versions['torch']}"
        self.notes += [f"{numbers}, {where}: {line}" for line in lines]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--transformers", nargs="*", default=[], help=f"Versions, with torch as here; {NEWEST}.")
    parser.add_argument("--torch", nargs="*", default=[], help=f"Versions, with transformers as here; {NEWEST}.")
    parser.add_argument("--python", default=sys.executable, help="The interpreter of new environments.")
    parser.add_argument("--environment", nargs="*", default=[], help="Environments that exist, with all they need.")
    parser.add_argument("--cache", required=True, help="Where environments are made and found again.")
    parser.add_argument("--share_packages", action="store_true", help="Install only what differs from here.")
    parser.add_argument("--output", help="Write the table into this Markdown file, row by row.")
    given = parser.parse_args(arguments)
    here = {name: version(name).partition("+")[0] for name in ("transformers", "torch")}
    pairs = [(number, here["torch"]) for number in given.transformers]
    pairs += [(here["transformers"], number) for number in given.torch]
    here["Python"] = platform.python_version()
    rows: list[Row] = []
    try:
        pythons = [Path(folder, "bin", "python").absolute() for folder in given.environment]
        pythons += [environment(pair, given.python, Path(given.cache), given.share_packages) for pair in pairs]
        with tempfile.TemporaryDirectory() as folder:
            probe(Path(sys.executable), "save", folder)
            for python in pythons:
                rows.append(row_of(python, folder))
                write(given.output, report(here, rows))  # a run that is interrupted leaves the rows it has
    except DataError as error:
        parser.exit(2, f"error: {error}\n")
    print(report(here, rows))
    return int(any(cell in ("FAILS", "DIFFERENT") for row in rows for cell in row.cells))


def write(output: str | None, found: str) -> None:
    """Write the page; its later sections, which are written by hand, stay."""
    if output:
        page = Path(output)
        _, section, rest = (page.read_text(encoding="utf-8") if page.is_file() else "").partition("\n## ")
        text = PAGE.format(tolerance=TOLERANCE, command=COMMAND, found=found)
        page.write_text(f"{text}{section}{rest}", encoding="utf-8")


def report(here: dict[str, str], rows: Sequence[Row]) -> str:
    """Return the date, the versions here, the table, and a list of what failed, differs or was refused."""
    lines = [f"{date.today()}. Here: {', '.join(f'{name} {number}' for name, number in here.items())}.", ""]
    lines += [table(COLUMNS, [[*row.versions.values(), *row.cells] for row in rows])]
    notes = [f"- {escaped(note)}" for row in rows for note in dict.fromkeys(row.notes)]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def environment(pair: tuple[str, str], python: str, cache: Path, share_packages: bool) -> Path:
    """Return the interpreter of an environment with these versions of transformers and torch."""
    folder = cache.expanduser().absolute() / f"transformers-{pair[0]}-torch-{pair[1]}"
    own = folder / "bin" / "python"
    if not own.is_file():
        run([python, "-m", "venv", str(folder)])
        if share_packages:
            (site,) = folder.glob("lib/python*/site-packages")
            (site / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    wanted = [
        name if number == NEWEST else f"{name}=={number}" for name, number in zip(("transformers", "torch"), pair)
    ]
    upgrade = ["--upgrade", "--upgrade-strategy", "only-if-needed"] if NEWEST in pair else []
    run([str(own), "-m", "pip", "install", "--quiet", *upgrade, *wanted, *OTHERS])
    return own


def row_of(python: Path, saved_here: str) -> Row:
    """Load there what was saved here, and the other way round."""
    print(f"{python.parents[2].name} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        saved = probe(python, "save", folder)
        row = Row(saved["versions"])
        error = saved["found"]
        there, back = probe(python, "read", saved_here), error or probe(Path(sys.executable), "read", folder)["found"]
        for found in (there["found"], dict.fromkeys(CODES, back) if error else back):
            for code in CODES:
                row.add(found[code])
    return row


def probe(python: Path, *arguments: str) -> dict[str, Any]:
    """Run version_probe.py in an environment, which finds this package on its path and no other modules beside it."""
    with tempfile.TemporaryDirectory() as home:
        settings = {"PYTHONPATH": str(ROOT), "HF_HOME": home, "HF_HUB_OFFLINE": "1"}
        printed = run([str(python), "-", *arguments], PROBE.read_text(encoding="utf-8"), cwd=home, env=settings)
    return json.loads(next(filter(None, reversed(printed.splitlines()))))


def run(command: list[str], text: str = "", cwd: str | None = None, env: dict[str, str] | None = None) -> str:
    """Return the output of a command. Raises `DataError` with its last line where it fails."""
    ended = subprocess.run(
        command, input=text, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        last = (ended.stderr.strip() or "nothing was printed").splitlines()[-1]
        raise DataError(f"{' '.join(command[:4])} failed: {last}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
