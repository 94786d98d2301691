# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""run/layout.py is the one place that names the files of a run, and says truly who writes them."""

import ast
from pathlib import Path

from modeling_scratch.run import layout
from modeling_scratch.run.run_folder import claim

PACKAGE = Path(__file__).parents[2] / "modeling_scratch"
OF_THEIR_OWN = {"exporting", "benchmark"}  # rooms that write folders which no run reads


def test_no_other_file_names_them() -> None:
    names = {entry.name for entry in layout.ENTRIES if "." in entry.name and "*" not in entry.name}
    assert layout.TRIALS in names
    found = {
        (path.relative_to(PACKAGE).as_posix(), node.value)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in OF_THEIR_OWN
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    }
    assert {file for file, _ in found} == {"run/layout.py"}, found


def test_what_runs_write_is_set_aside_for_another_and_nothing_else(tmp_path: Path) -> None:
    ours = {"run_config.json", "test.translations.txt", "predictions.jsonl", "search.json", "model.safetensors"}
    theirs = {"thesis.txt", "notes.md", "translations.txt"}
    for name in ours | theirs:
        (tmp_path / name).write_text("{}")
    claim(tmp_path)
    assert {path.name for path in (tmp_path / "_replaced-1").iterdir()} == ours
    assert {path.name for path in tmp_path.iterdir()} == theirs | {"_replaced-1"}
