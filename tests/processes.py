# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Processes that really die: children of the test's own, forked, so that they need not import everything again."""

import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401
import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # threads do not survive a fork


@dataclass(frozen=True)
class Ended:
    """status: the exit status, or minus the signal that killed the process; text: all that it wrote."""

    status: int
    text: str


def in_child(*actions: Callable[[], Any], meanwhile: Callable[[int], Any] = lambda child: None) -> Ended:
    """What becomes of a process that does one after the other; what they patch is patched there alone.

    meanwhile: what is done here in the meantime, with the id of the process.
    """
    sys.stdout.flush()
    reader, writer = os.pipe()  # no file, which a full disk or a limit would touch
    if (child := os.fork()) == 0:
        _become(writer, actions)
    os.close(writer)
    meanwhile(child)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as handle:
        text = handle.read()
    _, status = os.waitpid(child, 0)
    return Ended(os.waitstatus_to_exitcode(status), text)


def _become(descriptor: int, actions: tuple[Callable[[], Any], ...]) -> None:
    status = 1
    try:
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
        for action in actions:
            action()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else bool(error.code)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def refusal(capsys: pytest.CaptureFixture, program: Callable[..., Any], *arguments: Any) -> str:
    """The last line that a program writes where it ends with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        program(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def at_call(owner: Any, name: str, number: int, act: Callable[..., Any], after: bool = False) -> Callable[[], None]:
    """An action: the `number`-th call of a function of `owner` does `act` with its arguments, before or afterwards."""

    def patch() -> None:
        original, calls = getattr(owner, name), [0]

        def called(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] == number and not after:
                act(*args, **kwargs)
            result = original(*args, **kwargs)
            if calls[0] == number and after:
                act(*args, **kwargs)
            return result

        setattr(owner, name, called)

    return patch


def send(signal: int) -> Callable[..., None]:
    """Send the process itself a signal, in the middle of what it does."""
    return lambda *args, **kwargs: os.kill(os.getpid(), signal)
