# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier from Python, such as in a notebook, with the options of `modeling-scratch train-classifier`.

from modeling_scratch.training import train_classifier

report = train_classifier(table, output_dir="runs/mine")
report.scores["accuracy"]
report.predict(["gripping from start to finish"])
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from signal import SIGINT
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import transformers

from ..data.columns import is_missing
from ..data.containers import as_table, is_splits, texts_in
from ..data.splits import SPLIT_NAMES, DataArguments, DatasetSource
from ..data.text_pairs import TEXT_FIELDS, of_parts, pair_columns, trained_columns
from ..inference.answers import gives_numbers
from ..inference.arguments import ALL, PredictArguments
from ..tasks import CLASSIFY, named
from ..utils.errors import DataError, one_line, panics_as_errors
from ..utils.files import read_json
from ..utils.options import built, check_names
from .layout import EVALUATION, RESULTS
from .train import train

TASK = named(CLASSIFY)
IN_MEMORY = "tables-in-memory"  # in the record of a run, as no file has them
OPTION = re.compile(r"(`[^`]*`)|(?<![^\s(])--(?=[a-z])")  # or a command, which keeps its hyphens


@dataclass(frozen=True)
class Report:
    """The results of a run: the folder of its model, which `pipeline` loads, its scores, and its report as Markdown."""

    folder: Path
    scores: Mapping[str, Any]
    text: str

    def __str__(self) -> str:
        return f"{self.text}\nThe model is in {self.folder}.\n"

    def _repr_markdown_(self) -> str:
        return str(self)

    def predict(self, texts: Any) -> list[dict[str, Any]]:
        """Return the answer of the model to each text: "label", "score", and "probabilities", those of all classes.

        texts: one text, any container of texts, or a table with the column of texts that the model was trained on. A
        model of pairs takes pairs, such as `[("premise", "hypothesis")]`. Of several labels per text, "label" and
        "score" are lists, of the labels with a probability above 0.5. A regression has a number as its "score",
        and no probabilities. A text that is missing, or has no visible character, has the label None. Raises
        `DataError` for what are no texts, and for a damaged folder.
        """
        given = texts_in(texts, trained_columns(str(self.folder)), "predict")
        joined = [_text_of(text, self._has_pairs) for text in given]
        answers = []
        for line in self._answerer.lines([(row, text, {}) for row, text in enumerate(joined)]) if joined else ():
            answer = {name: line[name] for name in ("label", "score")}
            if not gives_numbers(self._answerer.config):
                answer["probabilities"] = {each["label"]: each["score"] for each in line["top"] or ()}
            answers.append(answer)
        return answers

    @property
    def _has_pairs(self) -> bool:
        return len(pair_columns(str(self.folder))) == 2

    @cached_property
    def _answerer(self) -> Any:
        arguments = PredictArguments(model=str(self.folder))
        arguments.text_column = list(TEXT_FIELDS) if self._has_pairs else None  # there is no table to have them
        answerer = TASK.answering.load(arguments)
        answerer.defaults["top_k"] = ALL
        return answerer


def _text_of(text: Any, has_pairs: bool) -> str:
    parts = list(text) if has_pairs and isinstance(text, list | tuple) else [text]
    # As pandas has what is missing, or without a visible character.
    if any(is_missing(part) or (pd.api.types.is_scalar(part) and bool(pd.isna(part))) for part in parts):
        return ""
    if len(parts) != 1 + has_pairs or not all(isinstance(part, str) for part in parts):
        raise DataError(f"predict: {text!r:.40} is not a {'pair of texts' if has_pairs else 'text'}")
    return of_parts(parts) if has_pairs else text


def train_classifier(data: Any = None, output_dir: str | Path = "runs/demo", **options: Any) -> Report:
    """Train a text classifier, evaluate it, and save it in output_dir.

    - data: a folder of splits, a file, a table, or a mapping from split names to tables, such as a
      `datasets.DatasetDict`; by default the demo reviews. A table is a `pandas.DataFrame`, a `datasets.Dataset`, a dict
      of columns, or an iterable of dicts or of (text, label).
    - options: those of the command, by name: `num_train_epochs=3`, `pretrain_epochs=1`, `class_names=["bad", "good"]`.

    Raises `DataError` for invalid data and options. An interruption saves a checkpoint, and raises KeyboardInterrupt.
    The only progress bar is that of training.
    """
    with quiet_saving(), panics_as_errors():
        try:
            check_names(TASK.arguments, options)
            if options.get("search_trials"):
                raise DataError("search_trials: a search has no report; use `modeling-scratch train-classifier`")
            is_path = isinstance(data, str | Path)
            source = {} if data is None else {"data_dir": IN_MEMORY}
            if is_path:
                source = {"data_dir" if Path(data).is_dir() else "train_file": data}
            groups = built(TASK.arguments, {"output_dir": output_dir, **options, **source})
            if source and not is_path:
                next(group for group in groups if isinstance(group, DataArguments)).tables = tables_of(data)
            train(TASK, *groups)
        except DataError as error:
            raise DataError(OPTION.sub(lambda found: found[1] or "", str(error))) from None
        except SystemExit as error:
            raise KeyboardInterrupt if error.code == 128 + SIGINT else error from None
    folder = Path(output_dir)
    return Report(folder, read_json(folder / EVALUATION), (folder / RESULTS).read_text(encoding="utf-8"))


@contextmanager
def quiet_saving() -> Iterator[None]:
    """Disable the progress bar of the files of a saved model; Trainer's own stays."""
    is_shown = transformers.logging.is_progress_bar_enabled()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        if is_shown:
            transformers.logging.enable_progress_bar()


def tables_of(data: Any) -> dict[str, DatasetSource]:
    """Return the rows of each split. Raises `DataError` for what is no table, and for splits that are not known."""
    has_splits = isinstance(data, Mapping) and is_splits(data, SPLIT_NAMES)
    found: dict[str, DatasetSource] = {}
    for name, table in data.items() if has_splits else [("train", data)]:
        where = f"data[{name!r}]" if has_splits else "data"
        if (split := SPLIT_NAMES.get(name)) is None:
            raise DataError(f"data: no split is named {name!r}; use {', '.join(SPLIT_NAMES)}")
        if split in found:
            raise DataError(f"data: two tables are the {split} split; keep one")
        found[split] = DatasetSource(where, _dataset(table, where))
    if "train" not in found:
        raise DataError("data: no table is the train split; name one 'train'")
    return found


def _dataset(data: Any, where: str) -> datasets.Dataset:
    table = as_table(data, where)
    if len(table) == 0:
        raise DataError(f"{where} has no rows")
    if isinstance(table, datasets.Dataset):
        return table.with_format(None)
    try:
        return datasets.Dataset.from_pandas(table, preserve_index=False)
    except pa.ArrowException as error:
        raise DataError(f"{where}: a column has values of several types: {one_line(error)}") from error
