# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tests that change the process they run in: each runs in a fork, which starts in milliseconds and ends with it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from together import together


def in_own_process(test: Callable[..., None]) -> Callable[..., None]:
    """A test that runs in a fork; its failure is raised here, with its traceback."""

    @wraps(test)
    def run(**arguments: Any) -> None:
        together(1, lambda rank: test(**arguments))

    return run
