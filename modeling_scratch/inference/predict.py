# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer every row of a file with a saved model, in the order of the rows."""

import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import PreTrainedConfig

from ..bridges.model_sources import check_folder
from ..data.encoded_texts import in_chunks
from ..data.text_pairs import column_names
from ..tasks import CLASSIFY, action_in, named
from ..utils.errors import DataError, counted
from ..utils.files import open_output
from ..utils.terminal import told
from .arguments import PredictArguments
from .loading import loading_errors
from .rows import row_writer


def predict(arguments: PredictArguments) -> None:
    """Answer every row of the input. Raises `DataError` for an invalid input or model."""
    answering = answering_of(arguments)
    answering.name_columns(arguments)
    arguments.keep_beside(answering.columns(arguments))
    if arguments.input == "-" and sys.stdin is None:
        raise DataError("--input -: standard input is closed; name a file")
    if Path(arguments.input).is_file():  # to its end: a row that cannot be read must not cost hours of predictions
        deque(answering.rows(arguments), maxlen=0)
    with told("loading the model"):
        answerer = answering.load(arguments)
    rows = write_answers(answerer, arguments)
    for what, count in answerer.counts.items():
        if count:
            print(f"{what}: {count:,}", file=sys.stderr)
    if arguments.output != "-":
        print(f"saved {counted(rows, 'row')} to {arguments.output}", file=sys.stderr)


def answering_of(arguments: PredictArguments) -> Any:
    """Return the class of the answerer. Raises `DataError` for options that it does not take."""
    name, action = arguments.model, None
    # Faults of a folder are reported where the model is loaded; without the Hub, that would only wait again.
    with suppress(Exception) if Path(name).exists() else loading_errors("--model", name):
        check_folder(name)
        settings, _ = PreTrainedConfig.get_config_dict(name)
        action = action_in(settings)
    task = named(action or CLASSIFY)  # linear models and unknown ones classify
    if (answering := task.answering) is None:
        raise DataError(f"--model {arguments.model}: {task.refusal}")
    for name in ("top_k", "threshold"):
        if getattr(arguments, name) is not None and name not in answering.takes:
            raise DataError(f"--{name}: {task.refusal}; leave it out")
    if len(column_names(arguments.text_column)) > answering.text_columns:
        raise DataError(f"--text_column {arguments.text_column}: {task.refusal}; leave it out")
    return answering


def write_answers(answerer: Any, arguments: PredictArguments) -> int:
    """Write the answers to all rows of the input, and return their number."""
    rows = 0
    with (
        open_output(arguments.output) as handle,
        tqdm(unit=f" {answerer.unit}", disable=arguments.no_progress or None) as bar,
    ):
        write = row_writer(handle, arguments, answerer.columns(arguments, answerer))
        answerer.progress = bar.update
        for chunk in in_chunks(answerer.rows(arguments)):
            for line in answerer.lines(chunk):
                write(line)
            handle.flush()
            rows += len(chunk)
    return rows
