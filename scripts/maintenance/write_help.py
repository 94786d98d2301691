# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate help/options.json, and help/NAME.txt, the output of `modeling-scratch NAME --help`, from the parsers.

python scripts/maintenance/write_help.py
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import transformers
from modeling_scratch_cli.__main__ import PROGRAMS

from modeling_scratch.utils.options import RETIRED, retired

FOLDER = Path(__file__).resolve().parents[1]  # not that of an installation elsewhere
WIDTH = 100


class Found(BaseException):
    """Carries the parser of a program, and the arguments that it would have parsed."""


def parser_of(name: str) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of a program, and what it parses of a command line that is one value."""

    def stop(parser: argparse.ArgumentParser, arguments: Any = None, namespace: Any = None) -> NoReturn:
        raise Found(parser, arguments)

    program = import_module(f"modeling_scratch_cli.{PROGRAMS[name]}")
    with patch.object(sys, "argv", [f"modeling-scratch {name}"]):
        try:
            with patch.object(argparse.ArgumentParser, "parse_known_args", stop):
                program.main(["value"])
        except Found as found:
            return found.args
    raise RuntimeError(f"{name} has no parser")


def option_of(action: argparse.Action) -> dict[str, Any]:
    """What has to be known of an option of a program to refuse a command line."""
    option: dict[str, Any] = {"names": action.option_strings or [action.dest]}
    if action.nargs == 0:
        return {**option, "action": "store_true"}
    number = {int: "int", float: "float"}.get(action.type)  # type: ignore[call-overload]
    required = action.required and bool(action.option_strings)
    found = {"nargs": action.nargs, "const": action.const, "type": number, "required": required}
    option |= {key: value for key, value in found.items() if value}
    return {**option, **({"choices": [*action.choices]} if action.choices else {})}


def all_options() -> str:
    """help/options.json: options, the option that first values belong to, and the answers to retired ones.

    Each option stands there once, by its name, and each program has a list of names; others of a name have an
    apostrophe.
    """
    options: dict[str, dict[str, Any]] = {}
    programs: dict[str, list[str]] = {}
    firsts, retired_by = {}, {}
    for program in PROGRAMS:
        parser, arguments = parser_of(program)
        programs[program] = []
        for option in map(option_of, parser._actions):
            name = option["names"][0]
            while options.setdefault(name, option) != option:
                name += "'"
            programs[program].append(name)
        if arguments and arguments[0].startswith("--"):
            firsts[program] = arguments[0]
        if known := getattr(parser, "retired_options", {}):
            retired_by[program] = {option: retired(option, known) for option in known}
    known_options: dict[str, Mapping[str, Any]] = {
        "transformers": {"version": transformers.__version__}, "options": options, "programs": programs,
        "first": firsts, "retired": {name: retired(name) for name in RETIRED if name.startswith("--")},
        "retired_by": retired_by,
    }  # fmt: skip
    return as_lines(known_options)


def as_lines(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with a line for each entry of a table."""
    rows = {
        name: [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
        for name, table in tables.items()
    }
    return "{\n" + ",\n".join(f' "{name}": {{\n' + ",\n".join(each) + "\n }" for name, each in rows.items()) + "\n}\n"


def main() -> None:
    os.environ["COLUMNS"] = str(WIDTH)
    for name in PROGRAMS:
        (FOLDER / "help" / f"{name}.txt").write_text(parser_of(name)[0].format_help(), encoding="utf-8")
    (FOLDER / "help" / "options.json").write_text(all_options(), encoding="utf-8")


if __name__ == "__main__":
    main()
