# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The examples in docstrings print what they show, and the page on adding a row quotes lines that are there."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

MODULES = (
    "modeling_scratch", "modeling_scratch.presets", "modeling_scratch.bridges.conversion", "modeling_scratch.fast",
    "modeling_scratch.inspection.explanation",
    "tokenization.training", "tokenization.special_tokens",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_hold(name: str) -> None:
    results = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert results.attempted > 0
    assert results.failed == 0


ROOT = Path(__file__).parents[2]
QUOTED = "modeling_scratch/positions.py", "tests/model_cases.py"


def test_the_quoted_lines_are_those_of_the_files() -> None:
    blocks = re.findall(r"```text\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), re.DOTALL)
    assert len(blocks) == len(QUOTED)
    for file, block in zip(QUOTED, blocks):
        lines = (ROOT / file).read_text().splitlines()
        assert [line for line in block.splitlines() if line.removeprefix("+") not in lines] == []
