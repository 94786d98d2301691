# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""run/layout.py is the one place that names the files of a run, and says truly who writes them."""

import ast
from pathlib import Path

from modeling_scratch.run.layout import ENTRIES, TRIALS

PACKAGE = Path(__file__).parents[2] / "modeling_scratch"
OF_THEIR_OWN = {"exporting", "benchmark"}  # rooms that write folders which no run reads


def test_no_other_file_names_them() -> None:
    names = {entry.name for entry in ENTRIES if "." in entry.name and "*" not in entry.name}
    assert TRIALS in names
    found = {
        (path.relative_to(PACKAGE).as_posix(), node.value)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in OF_THEIR_OWN
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    }
    assert {file for file, _ in found} <= {"run/layout.py", "run/folder_rule.py"}, found


def test_each_names_the_module_that_writes_it() -> None:
    written = [entry.written.partition(",")[0] for entry in ENTRIES]
    assert [module for module in written if "/" in module and not (PACKAGE / f"{module}.py").is_file()] == []
