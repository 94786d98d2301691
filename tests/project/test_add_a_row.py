# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page on adding a row quotes lines that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = "modeling_scratch/positions.py", "modeling_scratch/configuration_scratch.py", "tests/model_cases.py"


def test_the_quoted_lines_are_those_of_the_files() -> None:
    quoted = re.findall(r"```text\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), re.DOTALL)
    assert len(quoted) == len(FILES)
    for file, block in zip(FILES, quoted):
        lines = (ROOT / file).read_text().splitlines()
        assert [line for line in block.splitlines() if line.removeprefix("+") not in lines] == []
