# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program that writes the lessons as notebooks and slides, and opens one."""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..utils.errors import DataError
from ..utils.files import write_json, write_text
from ..utils.options import option
from .building import notebook, notebooks, read_lesson, read_notebook, sources

PROGRAMS = "jupyterlab", "notebook"  # that show notebooks


@dataclass
class LessonArguments:
    """Which lessons to write, for whom, and where to."""

    names: list[str] | None = option(
        None,
        "Lessons by their numbers, from 1, or notebooks of the documentation by their names, to write them without "
        "solutions; by default all lessons.",
    )
    teacher: bool = option(False, "Also write the teacher's notebook, with solutions and notes.")
    slides: bool = option(False, "Also write the slides: HTML, and PDF where Chromium or Chrome is installed.")
    output_dir: str = option("course", "The folder for the files.")
    overwrite: bool = option(False, "Replace notebooks that exist, and the answers in them.")
    open: bool = option(True, "Open the notebook of a single lesson in Jupyter, on a terminal, until that is stopped.")

    def __post_init__(self) -> None:
        if unknown := [name for name in self.names or () if name not in every_source()]:
            raise DataError(f"{unknown[0]}: no such lesson; they are {', '.join(every_source())}")
        if Path(self.output_dir).exists() and not Path(self.output_dir).is_dir():
            raise DataError(f"--output_dir {self.output_dir}: not a folder")


def every_source() -> dict[str, Path]:
    return {**{str(number): path for number, path in sources().items()}, **notebooks()}


def write_lessons(arguments: LessonArguments) -> None:
    folder, every = Path(arguments.output_dir), every_source()
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or map(str, sources()):
        source = every[name]
        cells = read_lesson(source) if source.suffix == ".py" else read_notebook(source)
        student = folder / f"{source.stem}.ipynb"
        for path in (student, folder / f"{source.stem}_teacher.ipynb")[: 1 + arguments.teacher]:
            if path.exists() and not arguments.overwrite:
                print(f"{path}: kept, with the answers in it; --overwrite replaces it")
                continue
            write_json(path, notebook(cells, is_teacher=path != student))
            print(path)
        if arguments.slides and source.suffix == ".py":
            from .slides import slides, write_pdf

            page = folder / f"{source.stem}_slides.html"
            write_text(page, slides(cells))
            pdf = page.with_suffix(".pdf")
            print(page, pdf if write_pdf(page, pdf) else "(no PDF without Chromium or Chrome: print it in a browser)")
    program = next(filter(importlib.util.find_spec, PROGRAMS), None)
    is_one = len(arguments.names or ()) == 1
    if program and is_one and arguments.open and sys.stdout.isatty():
        subprocess.run([sys.executable, "-m", program, str(student)], check=False)
    else:
        before = "" if program else "pip install jupyterlab ipywidgets, then "
        print(f"to work on it: {before}jupyter lab {student if is_one else folder}; or open it in an editor")
