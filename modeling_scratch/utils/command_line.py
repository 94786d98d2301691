# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Command-line programs with dataclass arguments. Invalid arguments give a one-line error and exit code 2."""

import argparse
import errno
import logging
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn

import transformers
from transformers import HfArgumentParser, TrainingArguments

from .errors import DataError, panics_as_errors
from .options import retired
from .terminal import escape_missing_letters, flush_output

# Inherited arguments that the short help includes.
SHOWN = {"num_train_epochs", "max_steps", "seed", "bf16", "push_to_hub", "hub_model_id", "resume_from_checkpoint"}
METAVARS: dict[Any, str] = {int: "N", float: "X"}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class HelpAll(argparse.Action):
    """--help_all: print the help including the arguments inherited from transformers.TrainingArguments."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.hidden = set()  # type: ignore[attr-defined]
        parser.print_help()
        parser.exit()


class OneLineParser(HfArgumentParser):
    """A parser with one-line errors, whose help omits inherited arguments with unchanged defaults."""

    def __init__(self, dataclass_types: Any, raises: bool = False, first: str | None = None, **kwargs: Any) -> None:
        """raises: errors are exceptions, for calls from Python. first: the option of values before all options."""
        usage = f"%(prog)s {first[2:]} ... [options]" if first else "%(prog)s [options]"
        super().__init__(dataclass_types, usage=usage, allow_abbrev=False, **kwargs)
        self.raises, self.first = raises, first
        # Options that this program alone had, and what replaces them
        self.retired_options = ChainMap[str, str](*(getattr(each, "RETIRED", {}) for each in self.dataclass_types))
        self.hidden = {name for each in self.dataclass_types for name in inherited(each)} - SHOWN
        if self.hidden:
            note = "all options, including those of transformers.TrainingArguments"
            self.add_argument("--help_all", action=HelpAll, nargs=0, dest=argparse.SUPPRESS, help=f"show {note}")

    def format_help(self) -> str:
        for action in self._actions:
            named = [name for name in action.option_strings if "-" not in name.strip("-")]
            action.option_strings = named or action.option_strings  # only --data_dir, not also --data-dir
            if action.choices is None and action.nargs in (None, "?", "+", "*"):
                action.metavar = METAVARS.get(action.type, "TEXT") if action.nargs != "?" else "BOOL"
            if self.first in action.option_strings:  # --runs is shown as runs
                action.option_strings, action.metavar = [], None if action.choices else action.dest
            is_opposite = action.nargs == 0 and action.const is False  # --no_lowercase, beside --lowercase False
            if action.dest in self.hidden or is_opposite:
                action.help = argparse.SUPPRESS
        return re.sub(r"\s*\(default:\s+None\)", "", super().format_help())

    def dataclasses(self, arguments: Sequence[str] | None) -> tuple[Any, ...]:
        """Return the dataclasses of a command line (sys.argv if None)."""
        for each in sys.argv[1:] if arguments is None else arguments:
            name = each.partition("=")[0]
            is_option = name.startswith("--") and name not in self._option_string_actions
            if is_option and (line := retired(name, self.retired_options)):
                self.error(line)
        try:
            return self.parse_dict(vars(self.parse_args(arguments)))
        except (ValueError, OSError) as error:
            self.error(str(error))

    def error(self, message: str) -> NoReturn:
        """Answer a retired value of an option, or name the option that an unknown one probably means."""
        if self.first and message.endswith(f"required: {self.first}"):
            message = f"{self.first[2:]}: required, before all options"
        value = re.search(r"argument (--\w+).*: invalid choice: '([\w-]+)'", message)
        unknown = re.match("unrecognized arguments: (--[^ =]+)", message)
        likely = get_close_matches(unknown[1], self._option_string_actions, 1) if unknown else []
        message += f" (did you mean {likely[0]}?)" if likely else ""
        is_value = re.match("unrecognized arguments: [^-]", message)  # such as --seeds 0 1
        message += " (the option before it takes no further value)" if is_value else ""
        answer = retired(f"{value[1]} {value[2]}", self.retired_options) if value else None
        line = answer or " ".join(message.split())
        if self.raises:
            raise DataError(line)
        self.exit(2, f"{self.prog}: error: {line}\n")


def parsed(dataclass_types: Any, arguments: Sequence[str], raises: bool = False) -> tuple[Any, ...]:
    """Return the dataclasses of a command line. Errors print one line and exit with code 2.

    raises: raise `DataError` instead.
    """
    return OneLineParser(dataclass_types, raises).dataclasses(arguments)


def inherited(dataclass_type: Any) -> Iterator[str]:
    """Yield the names of the TrainingArguments fields whose default a subclass keeps."""
    if issubclass(dataclass_type, TrainingArguments):
        library = {each.name: (each.default, each.default_factory) for each in fields(TrainingArguments)}
        own = ((each.name, (each.default, each.default_factory)) for each in fields(dataclass_type))
        yield from (name for name, default in own if library.get(name) == default)


def quiet_libraries(*names: str) -> None:
    """Silence the log messages of transformers and of the named loggers; show progress bars only on a terminal."""
    transformers.logging.set_verbosity_error()
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    hide_progress_bars()


def hide_progress_bars() -> None:
    """Show progress bars of Hugging Face's libraries only on a terminal."""
    if sys.stderr.isatty():
        return
    transformers.logging.disable_progress_bar()
    for name in ("datasets", "huggingface_hub.utils"):
        if library := sys.modules.get(name):  # what is not loaded yet has no bars to show
            library.disable_progress_bars()


def main_of(
    program: Callable[..., None], dataclass_types: Any, description: str | None, first: str | None = None
) -> Callable[..., None]:
    """Return what `run_program` does as a function of the command line."""
    return partial(run_program, program, dataclass_types, description, first=first)


def run_program(
    program: Callable[..., None],
    dataclass_types: Any,
    description: str | None,
    arguments: Sequence[str] | None = None,
    first: str | None = None,
) -> None:
    """Parse the command line (`arguments`, or sys.argv if None) and call program(*dataclasses).

    first: the option that a command line belongs to which begins with values alone, as in `compare runs/a runs/b`.

    Invalid arguments, `DataError` and OSError are user errors: they print one line and exit with code 2.
    Any other error is a bug and keeps its traceback.
    """
    escape_missing_letters()
    hide_progress_bars()
    parser = OneLineParser(dataclass_types, first=first, description=(description or "").partition("\n")[0])
    given = list(sys.argv[1:] if arguments is None else arguments)
    if first and given and not given[0].startswith("-"):
        given.insert(0, first)
    dataclasses = parser.dataclasses(given)
    try:
        with panics_as_errors():
            program(*dataclasses)
        flush_output()
    except (DataError, OSError) as error:
        with suppress(OSError):
            flush_output()
        message = str(error)
        if isinstance(error, OSError) and error.errno in NO_ROOM:  # the system then names no file
            resumes = any(isinstance(each, TrainingArguments) for each in dataclasses)
            advice = "resume with --resume_from_checkpoint last" if resumes else "repeat the command"
            message = f"{error}: the output could not be written; free disk space, then {advice}"
        parser.error(message)
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped\n")
