# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of programs, as fields of dataclasses."""

from dataclasses import field
from typing import Any


def option(default: Any, help: str) -> Any:
    """Return a field of a dataclass of arguments. The field is annotated with the type of its value."""
    return field(default=default, metadata={"help": help})
