# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Check the answer to an exercise: a wrong one prints the hint that names its mistake, and stops nothing."""

import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from functools import update_wrapper
from inspect import isfunction
from typing import Any

from . import exercises_1, exercises_2, exercises_3, exercises_4, exercises_5, exercises_6
from .comparing import Check, described

LESSONS = exercises_1, exercises_2, exercises_3, exercises_4, exercises_5, exercises_6
CHECKS: Mapping[str, Check] = {name: check for lesson in LESSONS for name, check in lesson.CHECKS.items()}


def check(name: str, answer: Any) -> None:
    """Print whether an answer is right, and what it shows, or the hint that names the mistake."""
    if name not in CHECKS:
        close = get_close_matches(name, CHECKS, 1)
        print(f"{name}: no such exercise; {f'did you mean {close[0]}?' if close else ', '.join(CHECKS)}")
        return
    hint = hint_for(CHECKS[name], answer)
    print(f"{name} is right. {CHECKS[name].shows}" if hint is None else f"{name} is not right yet: {hint}")


def hint_for(check: Check, answer: Any) -> str | None:
    """The hint that names the mistake of an answer, or the error that it raises; None for a right answer."""
    tried = Recorded(answer) if isfunction(answer) else answer
    try:
        return check.find(tried)
    except Exception as error:  # of code that a student is about to write: any
        return failure(error, tried)


class Recorded:
    """A function that remembers what it was called with last."""

    def __init__(self, function: Any) -> None:
        update_wrapper(self, function)
        self.function = function
        self.arguments: tuple[Any, ...] = ()

    def __call__(self, *arguments: Any) -> Any:
        self.arguments = arguments
        return self.function(*arguments)


def failure(error: Exception, answer: Any) -> str:
    """What went wrong: the line of the answer that raised the error, and the arguments of the call."""
    what = f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}"
    if not isinstance(answer, Recorded):
        return f"it cannot be checked ({what})"
    call = f"It was called with {described(answer.function, answer.arguments)}."
    file = answer.function.__code__.co_filename
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if not lines:
        return f"what it returns cannot be checked ({what}). {call}"
    if "ellipsis" in what:
        return "`...` is still there: replace it with your code."
    return f"line {lines[-1].lineno}, `{lines[-1].line}`, raises {what}. {call}"
