# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Check a command line before the program is imported, which takes seconds: options, values, and files that are read.

help/options.json has the options of every program, as `python scripts/maintenance/write_help.py` finds them in the
parsers. What cannot be known without the libraries is left to the program.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from importlib.metadata import version
from os.path import lexists
from pathlib import Path
from runpy import run_path
from typing import Any, NoReturn

OPTIONS = Path(__file__).parent / "help" / "options.json"
LAYOUT = Path(__file__).resolve().parents[1] / "modeling_scratch" / "run" / "layout.py"
TYPES = {"int": int, "float": float}
FILES = {"train_file", "validation_file", "test_file", "unlabelled_file"}
READ_INPUT = {"predict"}  # programs whose --input is a file, not a model
MODELS = {"model", "model_name_or_path", "folder", "runs"}  # folders, or names on the Hub


class Parser(argparse.ArgumentParser):
    """A parser that answers as the program's own does, in one line."""

    retired: dict[str, str]
    first: str | None = None  # the option that values before all options belong to

    def error(self, message: str) -> NoReturn:
        unknown = message.partition("unrecognized arguments: ")[2].split()
        names = [each.partition("=")[0] for each in unknown if each.startswith("--")]
        value = re.search(r"argument (--\w+).*: invalid choice: '(\w+)'", message)
        retired = self.retired.get(f"{value[1]} {value[2]}") if value else None
        likely = get_close_matches(names[0], self._option_string_actions, 1) if unknown and names else []
        if self.first and message.endswith(f"required: {self.first}"):
            message = f"{self.first[2:]}: required, before all options"
        hint = f" (did you mean {likely[0]}?)" if likely else ""
        self.exit(2, f"{self.prog}: error: {retired or f'{message}{hint}'}\n")

    def refuse_retired(self, arguments: Sequence[str]) -> None:
        """Answer a retired option by what replaces it, whatever else is wrong."""
        for each in arguments:
            name = each.partition("=")[0]
            is_option = name.startswith("--") and name not in self._option_string_actions
            if is_option and (line := self.retired.get("--" + name[2:].replace("-", "_"))):
                self.exit(2, f"{self.prog}: error: {line}\n")


def check_command_line(name: str, arguments: Sequence[str]) -> None:
    """Exit with one line and code 2 if the program `name` cannot accept the arguments."""
    if "--help_all" in arguments:
        return
    known = json.loads(OPTIONS.read_text(encoding="utf-8"))
    parser = Parser(prog=f"modeling-scratch {name}", allow_abbrev=False, add_help=False)
    # Other versions have other options, and choices of them.
    is_same = known["transformers"]["version"] == version("transformers")
    parser.retired = {**known["retired"], **known["retired_by"].get(name, {})}
    for key in known["programs"][name]:
        option = known["options"][key]
        names: list[str] = option.pop("names")
        if not is_same:
            option.pop("choices", None)
        if "type" in option:
            option["type"] = TYPES[option["type"]]
        parser.add_argument(*names, **option)
    parser.first = known["first"].get(name)
    parser.refuse_retired(arguments)
    found, unknown = parser.parse_known_args(_with_first(parser.first, arguments))
    if unknown and is_same:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    _check_paths(parser, name in READ_INPUT, vars(found))


def _check_paths(parser: Parser, reads_input: bool, given: Mapping[str, Any]) -> None:
    """Refuse files and folders that are missing, and a folder that a run cannot use."""
    layout = run_path(str(LAYOUT))  # to import it would import the package
    for _, path in _paths(FILES | ({"input"} if reads_input else set()), given):
        if not _is_there(path):
            parser.error(f"{path}: cannot be read: No such file or directory")
    for option, path in _paths(MODELS | (set() if reads_input else {"input"}), given):
        if layout["is_path"](path) and not Path(path).exists():
            parser.error(f"--{option} {path}: folder not found")
    if given.get("data_dir") is not None and not Path(given["data_dir"]).exists():
        parser.error(f"{given['data_dir']}: folder not found")
    if given.get("output_dir") is not None and "resume_from_checkpoint" in given:
        overwrites = given.get("overwrite") not in (None, False, "False", "false")
        is_new = not given["resume_from_checkpoint"]  # a run that is resumed continues in its folder
        if reason := layout["refusal"](Path(given["output_dir"]), overwrites, is_new=is_new):
            parser.error(reason)


def _paths(options: Set[str], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values of these options, some of which take several."""
    for option in options & given.keys():
        values = given[option] if isinstance(given[option], list) else [given[option]]
        yield from ((option, value) for value in values if value is not None)


def _with_first(option: str | None, arguments: Sequence[str]) -> list[str]:
    """Name the option that values before all options belong to, as in `compare runs/a runs/b`."""
    if option is None or not arguments or arguments[0].startswith("-"):
        return [*arguments]
    return [option, *arguments]


def _is_there(path: str) -> bool:
    """Return whether a file may be read: addresses, patterns and standard input are left to the program."""
    return "://" in path or "*" in path or path == "-" or lexists(path)
