# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lost processes of distributed runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from transformers import TrainingArguments

from ..utils.errors import DataError, one_line

GONE = ("connection closed by peer", "connection reset by peer", "broken pipe", "connection refused", "timed out")


@contextmanager
def reporting_lost_processes(arguments: TrainingArguments) -> Iterator[None]:
    """Raise a one-line `DataError` if another process of the run is lost."""
    try:
        yield
    except RuntimeError as error:  # gloo and NCCL have no specific type
        if arguments.world_size == 1 or not any(sign in str(error).lower() for sign in GONE):
            raise
        raise DataError(
            f"another process of this run has ended or is unreachable ({one_line(error)[:200]}); training stopped. "
            "Its messages are above or on its machine. To resume, restart all processes with "
            "--resume_from_checkpoint last"
        ) from error
