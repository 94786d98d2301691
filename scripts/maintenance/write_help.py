# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate help/options.json, and help/NAME.txt, the output of `modeling-scratch NAME --help`, from the parsers.

python scripts/maintenance/write_help.py
"""

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import transformers
from modeling_scratch_cli.__main__ import PROGRAMS, run

from modeling_scratch.utils.retired_options import RETIRED, retired

FOLDER = Path(__file__).resolve().parents[1]  # not that of an installation elsewhere
WIDTH = 100


def parser_help(name: str) -> str:
    """The help of a program, printed by its own parser."""
    os.environ["COLUMNS"] = str(WIDTH)
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        run(name, ["--help"])
    return printed.getvalue()


class Found(BaseException):
    """Carries the parser of a program, and the arguments that it would have parsed."""


@contextmanager
def stopped_at_the_parser() -> Iterator[None]:
    """Within this context, a program raises Found where it would parse its arguments."""

    def stop(parser: argparse.ArgumentParser, arguments: Any = None, namespace: Any = None) -> NoReturn:
        raise Found(parser, arguments)

    parse, argparse.ArgumentParser.parse_known_args = argparse.ArgumentParser.parse_known_args, stop  # type: ignore
    try:
        yield
    finally:
        argparse.ArgumentParser.parse_known_args = parse  # type: ignore[method-assign]


def parser_of(name: str) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of a program, and what it parses of a command line that is one value."""
    with stopped_at_the_parser():
        try:
            import_module(f"modeling_scratch_cli.{PROGRAMS[name]}").main(["value"])
        except Found as found:
            return found.args
    raise RuntimeError(f"{name} has no parser")


def options_of(parser: argparse.ArgumentParser) -> list[dict[str, Any]]:
    """What has to be known of the options of a program to refuse a command line."""
    options = []
    for action in parser._actions:
        option: dict[str, Any] = {"names": action.option_strings or [action.dest]}
        if action.nargs == 0:
            option["action"] = "store_true"
        else:
            number = {int: "int", float: "float"}.get(action.type)  # type: ignore[call-overload]
            found = {
                "nargs": action.nargs,
                "const": action.const,
                "type": number,
                "required": action.required and bool(action.option_strings),
            }
            option |= {key: value for key, value in found.items() if value}
            if action.choices:
                option["choices"] = [*action.choices]
        options.append(option)
    return options


def by_name(
    programs: Mapping[str, Sequence[dict[str, Any]]],
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """Each option once, by its name, and the names of those of each program; others of a name have an apostrophe."""
    options: dict[str, dict[str, Any]] = {}
    names: dict[str, list[str]] = {program: [] for program in programs}
    for program, option in ((program, option) for program, found in programs.items() for option in found):
        name = option["names"][0]
        while options.setdefault(name, option) != option:
            name += "'"
        names[program].append(name)
    return options, names


def retired_by(parser: argparse.ArgumentParser) -> dict[str, str | None]:
    """The answers to retired options that a program alone had."""
    known = getattr(parser, "retired_options", {})
    return {option: retired(option, known) for option in known}


def all_options() -> str:
    """help/options.json: options, the option that first values belong to, and the answers to retired ones."""
    found = {name: parser_of(name) for name in PROGRAMS}
    firsts = {name: (arguments or [""])[0] for name, (_, arguments) in found.items()}
    options, programs = by_name({name: options_of(parser) for name, (parser, _) in found.items()})
    known: dict[str, Mapping[str, Any]] = {
        "transformers": {"version": transformers.__version__},
        "options": options,
        "programs": programs,
        "first": {name: first for name, first in firsts.items() if first.startswith("--")},
        "retired": {name: retired(name) for name in RETIRED if name.startswith("--")},
        "retired_by": {name: lines for name, (parser, _) in found.items() if (lines := retired_by(parser))},
    }
    return as_lines(known)


def as_lines(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with a line for each entry of a table."""
    rows = {
        name: [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
        for name, table in tables.items()
    }
    return "{\n" + ",\n".join(f' "{name}": {{\n' + ",\n".join(each) + "\n }" for name, each in rows.items()) + "\n}\n"


def main() -> None:
    for name in PROGRAMS:
        (FOLDER / "help" / f"{name}.txt").write_text(parser_help(name), encoding="utf-8")
    (FOLDER / "help" / "options.json").write_text(all_options(), encoding="utf-8")


if __name__ == "__main__":
    main()
