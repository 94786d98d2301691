# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of programs, as fields of dataclasses."""

from collections.abc import Iterable
from dataclasses import field
from typing import Any


def option(default: Any, help: str, choices: Iterable[str] = ()) -> Any:
    """Return a field of a dataclass of arguments. The field is annotated with the type of its value.

    choices: the values that a command line may give, if not all of the type.
    """
    metadata: dict[str, Any] = {"help": help}
    return field(default=default, metadata={**metadata, "choices": [*choices]} if choices else metadata)
