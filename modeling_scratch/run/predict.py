# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer the rows of a file with a model of any task, in input order."""

from tqdm import tqdm

from ..inference.arguments import PredictArguments
from ..inference.rows import check_input, in_chunks, tell
from ..tasks.base import Task
from ..utils.files import open_output


def predict(task: Task, arguments: PredictArguments) -> None:
    """Answer every row of the input. Raises `DataError` for an invalid input or model."""
    task.prepare(arguments)
    check_input(arguments, task.rows)
    answerer, hides = task.load(arguments), arguments.no_progress or None
    with open_output(arguments.output) as handle, tqdm(unit=f" {task.unit}", disable=hides) as bar:
        write, answerer.progress = task.writer(handle, arguments, answerer), bar.update
        for chunk in in_chunks(task.rows(arguments)):
            for line in task.answer(answerer, chunk):
                write(line)
            handle.flush()
    tell(answerer.counts)
