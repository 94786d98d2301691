# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of programs, as fields of dataclasses."""

from collections.abc import Iterable
from dataclasses import MISSING, field
from typing import Any

REQUIRED = MISSING


def option(default: Any, help: str, choices: Iterable[str] = (), **more: Any) -> Any:
    """Return a field of a dataclass of arguments. The field is annotated with the type of its value.

    default: `REQUIRED` for an option without one; a list is copied. choices: the values that a command line may give,
    if not all of the type. more: other arguments of `argparse.ArgumentParser.add_argument`.
    """
    metadata = {"help": help, **({"choices": [*choices]} if choices else {}), **more}
    if isinstance(default, list):
        return field(default_factory=lambda: [*default], metadata=metadata)
    return field(default=default, metadata=metadata)
