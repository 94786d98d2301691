# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier from Python, such as in a notebook, with the options of `modeling-scratch train-classifier`.

from modeling_scratch.training import train_classifier

report = train_classifier(table, output_dir="runs/mine", recipe="minutes")
report.scores["accuracy"]
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import transformers

from ..data.splits import SPLIT_NAMES
from ..utils.command_line import check_reporters, parsed
from ..utils.errors import DataError, one_line, panics_as_errors
from .classification import with_demo_settings
from .stages import ARGUMENTS, train

TABLES = pd.DataFrame, datasets.Dataset
OPTIONS = {each.name for group in ARGUMENTS for each in fields(group)}


@dataclass(frozen=True)
class Report:
    """The results of a run: its folder, which `pipeline` loads, its scores, and its report as Markdown."""

    folder: Path
    scores: Mapping[str, Any]
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def train_classifier(data: Any = None, output_dir: str | Path = "runs/demo", **options: Any) -> Report:
    """Train a text classifier, evaluate it, and save it in output_dir.

    - data: a folder of splits, a file, a `pandas.DataFrame`, a `datasets.Dataset`, or a mapping from split names to
      tables, such as a `datasets.DatasetDict`; by default the demo reviews.
    - options: those of the command, by name: `recipe="minutes"`, `num_train_epochs=3`, `class_names=["bad", "good"]`.

    Raises `DataError` for invalid data and options. Nothing exits, and the only progress bar is that of training.
    """
    _check_names(options)
    with tempfile.TemporaryDirectory() as temporary, quiet_saving(), panics_as_errors():
        named = {"output_dir": output_dir, **options, **_source(data, Path(temporary) / "data")}
        given = with_demo_settings([part for name, value in named.items() for part in _option(name, value)])
        try:
            groups = parsed(ARGUMENTS, given, raises=True)
            check_reporters(groups)
            train(given, *groups)
        except DataError as error:  # names the table, not the temporary file
            raise DataError(str(error).replace(f"{Path(temporary) / 'data'}/", "")) from error
    folder = Path(output_dir)
    scores = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    return Report(folder, scores, (folder / "results.md").read_text(encoding="utf-8"))


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            likely = get_close_matches(name, OPTIONS, 1)
            raise DataError(f"no option {name!r}" + (f"; did you mean {likely[0]!r}?" if likely else ""))
    if options.get("search_trials"):
        raise DataError(
            "search_trials: a search has no report; use `modeling-scratch train-classifier --search_trials`"
        )


@contextmanager
def quiet_saving() -> Iterator[None]:
    """Disable the progress bars of libraries, which show each file that they write; Trainer's own stays."""
    bars = (
        (transformers.logging.is_progress_bar_enabled, transformers.logging.enable_progress_bar),
        (lambda: not datasets.utils.are_progress_bars_disabled(), datasets.enable_progress_bars),
    )
    shown = [enable for is_enabled, enable in bars if is_enabled()]
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        for enable in shown:
            enable()


def _source(data: Any, folder: Path) -> dict[str, Any]:
    """Return the option that names the data. Tables are written to the folder first."""
    if data is None:
        return {}
    if isinstance(data, str | Path):
        return {"data_dir" if Path(data).is_dir() else "train_file": data}
    tables = data if isinstance(data, Mapping) else {"train": data}
    if unknown := [name for name in tables if name not in SPLIT_NAMES]:
        raise DataError(f"data: no split is named {unknown[0]!r}; use {', '.join(SPLIT_NAMES)}")
    if twice := [name for name, count in Counter(SPLIT_NAMES[name] for name in tables).items() if count > 1]:
        raise DataError(f"data: two tables are the {twice[0]} split; keep one")
    folder.mkdir()
    for name, table in tables.items():
        if not isinstance(table, TABLES):
            raise DataError(f"data[{name!r}] is a {type(table).__name__}, not a DataFrame or Dataset")
        if len(table) == 0:
            raise DataError(f"data[{name!r}] has no rows")
        try:
            if isinstance(table, pd.DataFrame):
                table = datasets.Dataset.from_pandas(table, preserve_index=False)
            table.to_parquet(str(folder / f"{name}.parquet"))
        except pa.ArrowException as error:
            raise DataError(f"data[{name!r}]: a column has values of several types: {one_line(error)}") from error
    return {"data_dir": folder}


def _option(name: str, value: Any) -> list[str]:
    """Return the words of a command line that give an option this value; None: its default."""
    if value is None or value in ([], ()):
        return []
    if name == "label_map" and isinstance(value, Mapping):
        value = [f"{source}={target}" for source, target in value.items()]
    if not isinstance(value, list | tuple):
        return [f"--{name}={json.dumps(value) if isinstance(value, Mapping) else value}"]
    if dashed := [part for part in map(str, value) if part.startswith("-")]:
        raise DataError(f"{name}: {dashed[0]!r} starts with a hyphen, as options do; rename it")
    return [f"--{name}", *map(str, value)]
