# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Messages of Transformers that would mislead a user here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging


@contextmanager
def hidden_messages(logger_name: str, *parts: str) -> Iterator[list[str]]:
    """Hide the messages of a logger that contain one of the parts, and yield the list of them."""
    logger, hidden = logging.get_logger(logger_name), []

    def shows(record: Any) -> bool:
        message = record.getMessage()
        if is_hidden := any(part in message for part in parts):
            hidden.append(message)
        return not is_hidden

    logger.addFilter(shows)  # type: ignore[arg-type]  # a function, as logging allows
    try:
        yield hidden
    finally:
        logger.removeFilter(shows)  # type: ignore[arg-type]
