# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer every row of a file with a saved model, in the order of the rows."""

from tqdm import tqdm

from ..data.encoded_texts import in_chunks
from ..tasks import named
from ..utils.errors import DataError
from ..utils.files import open_output
from .arguments import PredictArguments, refuse
from .loading import saved_action
from .rows import check_input, row_writer, tell


def predict(arguments: PredictArguments) -> None:
    """Answer every row of the input. Raises `DataError` for an invalid input or model."""
    task = named(saved_action(arguments.model))
    answering = task.answering
    if answering is None:
        raise DataError(f"--model {arguments.model}: {task.refusal}")
    refuse(answering.refused(arguments), task.refusal)
    answering.name_columns(arguments)
    arguments.keep_beside(answering.columns(arguments))
    check_input(arguments, answering.rows)
    answerer = answering.load(arguments)
    with (
        open_output(arguments.output) as handle,
        tqdm(unit=f" {answering.unit}", disable=arguments.no_progress or None) as bar,
    ):
        write = row_writer(handle, arguments, answering.columns(arguments, answerer), answerer.classes)
        answerer.progress = bar.update
        for chunk in in_chunks(answering.rows(arguments)):
            for line in answerer.lines(chunk):
                write(line)
            handle.flush()
    tell(answerer.counts)
