# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The examples in docstrings print what they show."""

import doctest
from importlib import import_module

import pytest

MODULES = (
    "modeling_scratch", "modeling_scratch.presets", "modeling_scratch.bridges.conversion", "modeling_scratch.fast",
    "modeling_scratch.inspection.explanation",
    "tokenization.training", "tokenization.special_tokens", "tokenization.characters",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_hold(name: str) -> None:
    results = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert results.attempted > 0
    assert results.failed == 0
