# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""All checks, in the order in which they run: files, loading, tokenizer, forward pass, training, use.

A check is a function of a `Subject` with `@check(...)` in one of these modules.
"""

from . import (
    caches,
    files,
    forward_arguments,
    invariances,
    loading,
    losses,
    states,
    stored_weights,
    targets,
    tokens_and_labels,
    use,
)
from .findings import Check

MODULES = (
    files, stored_weights, loading, tokens_and_labels, invariances, caches, forward_arguments, targets, losses, states,
    use,
)  # fmt: skip
CHECKS = tuple(each for module in MODULES for each in vars(module).values() if isinstance(each, Check))
