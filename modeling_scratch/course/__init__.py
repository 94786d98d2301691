# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The course: lessons in docs/course/, whose exercises are checked.

from modeling_scratch import course

course.check("attention", attention)

A wrong answer prints the hint that names its mistake, and stops nothing.
"""

import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from functools import wraps
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
    called_with: tuple[Any, ...] = ()  # last

    def recorded(*arguments: Any) -> Any:
        nonlocal called_with
        called_with = arguments
        return answer(*arguments)

    try:
        hint = CHECKS[name].find(wraps(answer)(recorded) if isfunction(answer) else answer)
    except Exception as error:  # of code that a student is about to write: any
        hint = failure(error, answer, called_with)
    print(f"{name} is right. {CHECKS[name].shows}" if hint is None else f"{name} is not right yet: {hint}")


def failure(error: Exception, answer: Any, arguments: tuple[Any, ...]) -> str:
    """What went wrong: the line of the answer that raised the error, and the arguments of the call."""
    what = f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}"
    if not isfunction(answer):
        return f"it cannot be checked ({what})"
    call = f"It was called with {described(answer, arguments)}."
    file = answer.__code__.co_filename
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if not lines:
        return f"what it returns cannot be checked ({what}). {call}"
    if "ellipsis" in what:
        return "`...` is still there: replace it with your code."
    return f"line {lines[-1].lineno}, `{lines[-1].line}`, raises {what}. {call}"
