# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The notebooks run from top to bottom, and their committed outputs are fit to be read."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from run_notebooks import ROOT, cleaned, executed, notebooks

LARGEST_FILE = 500_000  # bytes
OF_A_USER = re.compile(r"/home/|/Users/|/root/|/tmp/|/var/|/work/|[A-Z]:\\|site-packages|\.py:\d+: ")
PNG = b"\x89PNG\r\n"

MEASURES = "gpu"  # has neither pictures nor exercises

each_notebook = pytest.mark.parametrize("path", notebooks().values(), ids=lambda path: path.stem)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def pictures(notebook: NotebookNode) -> list[bytes]:
    found = (output.get("data", {}).get("image/png") for output in outputs(notebook))
    return [base64.b64decode(picture) for picture in found if picture]


@pytest.mark.slow  # CI runs the first one, see `make test-docs`
@pytest.mark.parametrize("name", notebooks())
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a fresh kernel and a folder that stays empty; a cell that fails, such as an exercise's assert, raises here."""
    monkeypatch.setenv("NOTEBOOK_STEPS", "4")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = notebooks()[name]
    fresh, committed = executed(path, tmp_path), nbformat.read(path, as_version=4)
    assert list(tmp_path.iterdir()) == []
    assert [cell.source for cell in fresh.cells] == [cell.source for cell in committed.cells]
    assert len(pictures(fresh)) == len(pictures(committed))


@each_notebook
def test_committed_outputs_are_those_of_one_clean_run(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    numbers = [cell.execution_count for cell in code_cells(notebook)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [output for output in outputs(notebook) if output.output_type == "error"] == []
    assert [output.text for output in outputs(notebook) if output.get("name") == "stderr"] == []
    shown = [str({**output, "data": {**output.get("data", {}), "image/png": ""}}) for output in outputs(notebook)]
    assert [text for text in shown if OF_A_USER.search(text)] == []
    assert all(picture.startswith(PNG) for picture in pictures(notebook))
    assert len(pictures(notebook)) >= 2 or path.stem == MEASURES
    assert path.stat().st_size < LARGEST_FILE
    assert notebook == cleaned(nbformat.read(path, as_version=4))


@each_notebook
def test_links_of_notebooks_exist(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    links = [link.partition("#")[0] for link in re.findall(r"\]\((?!http)([^)]+)\)", text)]
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert len(links) >= 3
