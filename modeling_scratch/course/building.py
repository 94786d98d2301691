# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A lesson's source in Python's percent format, and the notebooks that are made of it.

    # %% [markdown]           text                     # %%                  code
    # %% [markdown] slide     text, and a slide        # %% exercise NAME    code whose solution a student writes
    # %% [markdown] teacher   for the teacher alone

The solution stands between `# solution` and `# end solution`. The source runs from top to bottom as it is. Notebooks of
docs/notebooks/ have their solutions between `# >>>` and `# <<<`.
"""

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..utils.errors import DataError
from ..utils.files import read_json

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs" / "course"
# The cell that installs the package where it is missing is the same in all notebooks.
NOTEBOOKS = ROOT / "docs" / "notebooks"
NOTEBOOK_WITH_SETUP = NOTEBOOKS / "transformer-in-an-evening.ipynb"
HEADER = re.compile(r"# %%(?:( \[markdown\])(?: (slide|teacher))?| (exercise \w+))?$")
SOLUTION = re.compile(r"^( *)# (?:solution|>>>)\n(.*?)^ *# (?:end solution|<<<)\n?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^]]*)\]\((?!https?:)[^)]*\)")  # to a file beside the source
PICTURE = re.compile(r"!\[([^]]*)\]\((\.\./pictures/[\w-]+\.png)\)")


@dataclass(frozen=True)
class Cell:
    """role: "", "slide", "teacher" or "exercise NAME"."""

    source: str
    is_text: bool
    role: str = ""


def sources() -> dict[int, Path]:
    """The lessons, by their numbers."""
    found = {int(path.stem.split("_")[1]): path for path in sorted(SOURCES.glob("lesson_*.py"))}
    if not found:
        raise DataError(f"{SOURCES}: no lessons there; they are in a clone: pip install --editable it")
    return found


def notebooks() -> dict[str, Path]:
    """The notebooks with exercises, by their names."""
    return {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if "# >>>" in path.read_text("utf-8")}


def read_notebook(path: Path) -> list[Cell]:
    """The cells of a notebook, without outputs and the cell of the installation."""
    cells = read_json(path)["cells"]
    read = [Cell("".join(cell["source"]), cell["cell_type"] == "markdown") for cell in cells]
    return [cell for cell in read if cell.source != setup()]


def read_lesson(path: Path) -> list[Cell]:
    """The cells of a source. What stands before the first one is for those who read the file."""
    headers: list[tuple[bool, str]] = []
    bodies: list[list[str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# %%"):
            header = HEADER.match(line)
            if header is None:
                raise DataError(f"{path}:{number}: no such cell: {line}")
            headers.append((header[1] is not None, header[2] or header[3] or ""))
            bodies.append([])
        elif bodies:
            bodies[-1].append(re.sub("^# ?", "", line) if headers[-1][0] else line)
    return [Cell("\n".join(body).strip("\n"), *header) for header, body in zip(headers, bodies)]


def notebook(cells: list[Cell], is_teacher: bool) -> dict[str, Any]:
    """The notebook of the student, or that of the teacher with solutions and notes, in nbformat 4.5."""
    title, *rest = [cell for cell in cells if is_teacher or cell.role != "teacher"]
    written = [as_json(title, is_teacher), code(setup()), *(as_json(cell, is_teacher) for cell in rest)]
    return {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(written)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def as_json(cell: Cell, is_teacher: bool) -> dict[str, Any]:
    if not cell.is_text:
        return code(SOLUTION.sub(r"\2" if is_teacher else placeholder, cell.source))
    text = f"**For the teacher.** {cell.source}" if cell.role == "teacher" else cell.source
    pictures = {Path(name).name: {"image/png": encoded(name)} for _, name in PICTURE.findall(text)}
    source = PICTURE.sub(lambda found: f"![{found[1]}](attachment:{Path(found[2]).name})", LINK.sub(r"\1", text))
    more = {"attachments": pictures} if pictures else {}
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


def encoded(picture: str) -> str:
    """A picture in base64, so that the file that shows it needs no other."""
    return b64encode((SOURCES / picture).read_bytes()).decode()


def placeholder(solution: re.Match[str]) -> str:
    """What stands in the student's notebook for a solution; the names that it sets outside of functions stay."""
    names = re.findall(r"^(\w+) = ", solution[2], re.MULTILINE)
    lines = [f"{name} = ...  # your code here" for name in names]
    has_calls = re.search(r"^[\w.]+\(", solution[2], re.MULTILINE)  # which set no name
    if has_calls or not names:
        lines.append(f"{solution[1]}...  # your code here")
    return "\n".join(lines) + "\n"


def code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


@cache
def setup() -> str:
    cells = read_json(NOTEBOOK_WITH_SETUP)["cells"]
    return "".join(next(cell for cell in cells if cell["cell_type"] == "code")["source"])
