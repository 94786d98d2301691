# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A program's command line: dataclass arguments in, one clear line and exit code 2 for what is wrong with them."""

import argparse
import errno
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, NoReturn

import transformers
from transformers import HfArgumentParser, TrainingArguments
from transformers.integrations import get_reporting_integration_callbacks

from .errors import DataError

# Inherited arguments that are in the short help as well.
SHOWN = {"num_train_epochs", "max_steps", "seed", "bf16", "push_to_hub", "hub_model_id"}
METAVARS: dict[Any, str] = {int: "N", float: "X"}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class HelpAll(argparse.Action):
    """--help_all: the help with the arguments inherited from transformers.TrainingArguments."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.hidden = set()  # type: ignore[attr-defined]
        parser.print_help()
        parser.exit()


class OneLineParser(HfArgumentParser):
    """A parser whose errors are one line, and whose help leaves out inherited arguments with unchanged defaults."""

    def __init__(self, dataclass_types: Any, **kwargs: Any) -> None:
        super().__init__(dataclass_types, usage="%(prog)s [options]", **kwargs)
        self.hidden = {name for each in self.dataclass_types for name in inherited(each)} - SHOWN
        if self.hidden:
            note = "every argument of transformers.TrainingArguments, which are options of this program, too"
            self.add_argument("--help_all", action=HelpAll, nargs=0, dest=argparse.SUPPRESS, help=f"show {note}")

    def format_help(self) -> str:
        for action in self._actions:
            named = [name for name in action.option_strings if "-" not in name.strip("-")]
            action.option_strings = named or action.option_strings  # --data_dir, not --data-dir beside it
            if action.choices is None and action.nargs in (None, "?", "+", "*"):
                action.metavar = METAVARS.get(action.type, "TEXT") if action.nargs != "?" else "BOOL"
            if action.dest in self.hidden:
                action.help = argparse.SUPPRESS
        return re.sub(r"\s*\(default:\s+None\)", "", super().format_help())

    def error(self, message: str) -> NoReturn:
        unknown = re.match("unrecognized arguments: (--[^ =]+)", message)
        likely = get_close_matches(unknown[1], self._option_string_actions, 1) if unknown else []
        message += f" (did you mean {likely[0]}?)" if likely else ""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def inherited(dataclass_type: Any) -> Iterator[str]:
    """Fields of TrainingArguments that a subclass has with the same default."""
    if issubclass(dataclass_type, TrainingArguments):
        library = {each.name: (each.default, each.default_factory) for each in fields(TrainingArguments)}
        own = ((each.name, (each.default, each.default_factory)) for each in fields(dataclass_type))
        yield from (name for name, default in own if library.get(name) == default)


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
