# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tests that change the process they run in. Each has a process of its own, in which no test ran before.

It is a fork, which starts in milliseconds. A fork of the process of the tests would not do: torch takes no device after
the first backward pass. So that process forks itself once, before the first test, and the fork forks itself for each.
"""

import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import IO, Any

import pytest
from processes import in_child

TESTS: set[Callable[..., None]] = set()
PIPES: list[IO[str]] = []  # to the fork and from it


def in_own_process(test: Callable[..., None]) -> Callable[..., None]:
    """A test of parameters and paths; what it raises there fails it here, with the traceback."""

    @wraps(test)
    def run(**arguments: Any) -> None:
        requests, answers = PIPES
        paths = {name: str(value) for name, value in arguments.items() if isinstance(value, Path)}
        test_id = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        print(json.dumps([test_id, paths]), file=requests, flush=True)
        status, text = json.loads(answers.readline())
        assert status == 0, text

    TESTS.add(run)
    return run


def fork_before_tests(session: pytest.Session) -> None:
    """Fork, if one of the tests needs it."""
    items = {item.nodeid: item for item in session.items if getattr(item, "function", None) in TESTS}
    if not items or session.config.option.collectonly:
        return
    (reads_request, asks), (reads_answer, tells) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(asks)
        os.close(reads_answer)
        try:
            _serve(items, os.fdopen(reads_request), os.fdopen(tells, "w"))
        finally:
            os._exit(0)
    os.close(reads_request)
    os.close(tells)
    PIPES[:] = os.fdopen(asks, "w"), os.fdopen(reads_answer)


def _serve(items: dict[str, Any], requests: IO[str], answers: IO[str]) -> None:
    for line in requests:  # until the process of the tests has ended
        test_id, paths = json.loads(line)
        parameters = items[test_id].callspec.params if hasattr(items[test_id], "callspec") else {}
        arguments = {**parameters, **{name: Path(path) for name, path in paths.items()}}
        ended = in_child(lambda: items[test_id].function.__wrapped__(**arguments))  # noqa: B023, called at once
        print(json.dumps([ended.status, ended.text]), file=answers, flush=True)
