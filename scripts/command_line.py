# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A program's command line: dataclass arguments in, one clear line and exit code 2 for what is wrong with them."""

import errno
import logging
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import transformers
from text_files import DataError
from transformers import HfArgumentParser, TrainingArguments
from transformers.integrations import get_reporting_integration_callbacks

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class OneLineParser(HfArgumentParser):
    """A parser whose errors are one line, without the usage of twenty options in front."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match("unrecognized arguments: (--[^ =]+)", message)
        likely = get_close_matches(unknown[1], self._option_string_actions, 1) if unknown else []
        message += f" (did you mean {likely[0]}?)" if likely else ""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def quiet_libraries(*names: str) -> None:
    """For programs whose output is read: no advice of transformers and of these loggers, bars where somebody looks."""
    transformers.logging.set_verbosity_error()
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()


def run_program(
    program: Callable[..., None],
    dataclass_types: Any,
    description: str | None,
    arguments: Sequence[str] | None = None,
    expected: tuple[type[Exception], ...] = (DataError, OSError),
) -> None:
    """Call program(*dataclasses) with the arguments of the command line (sys.argv where they are None).

    Arguments that do not fit, and the errors that are expected of the program, are the user's to mend: one line.
    Anything else is a fault of ours and keeps its traceback.
    """
    parser = OneLineParser(dataclass_types, description=(description or "").partition("\n")[0])
    try:
        dataclasses = parser.parse_dict(vars(parser.parse_args(arguments)))
    except (ValueError, OSError) as error:
        parser.error(str(error))
    try:
        check_reporters(dataclasses)
        program(*dataclasses)
    except expected as error:
        parser.error(_told(error))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped\n")


def check_reporters(dataclasses: Iterable[object]) -> None:
    """What --report_to names has to be there before anything is read or deleted."""
    for arguments in dataclasses:
        for name in (isinstance(arguments, TrainingArguments) and arguments.report_to) or ():
            try:
                for reporter in get_reporting_integration_callbacks([name]):
                    reporter()
            except (ValueError, RuntimeError, ImportError) as error:
                raise DataError(f"--report_to {name}: {error}") from error


def _told(error: Exception) -> str:
    """The system names no file where there is no room for one."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return (
            f"{error}: something could not be written; make room, training goes on with --resume_from_checkpoint last"
        )
    return str(error)
