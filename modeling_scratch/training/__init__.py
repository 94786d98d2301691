# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training from Python. The programs and their parts are in `run`."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Import `train_classifier` on first use, as it needs libraries that other parts of the package do not."""
    if name != "train_classifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..run.in_python import train_classifier

    return train_classifier
