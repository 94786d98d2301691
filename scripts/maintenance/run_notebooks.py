# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run the notebooks of docs/notebooks/ from top to bottom, each in a fresh kernel and an empty folder, without network.

python scripts/maintenance/run_notebooks.py                              # all of them
python scripts/maintenance/run_notebooks.py look-inside --write          # one, and keep its outputs in the file

The environment variable NOTEBOOK_STEPS replaces the number of training steps of every model.
"""

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from modeling_scratch.utils.files import write_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
KEPT = {"jupyter", "tags"}  # metadata of a cell that its author has set
SECONDS_PER_CELL = 900
ONLY_HTML = "<IPython.core.display.HTML object>"
# No progress bars, and no warning of tqdm where ipywidgets is not installed.
QUIET = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore:IProgress not found"}


def notebooks() -> dict[str, Path]:
    return {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}


def executed(path: Path, folder: Path) -> NotebookNode:
    """The notebook with its outputs, run in a folder. Raises nbclient's `CellExecutionError` for a cell that fails."""
    notebook = nbformat.read(path, as_version=4)
    options: dict = {"timeout": SECONDS_PER_CELL, "kernel_name": "python3", "coalesce_streams": True}
    client = NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, **options)
    with TemporaryDirectory() as settings:
        client.execute(env={**os.environ, **QUIET, "HF_HUB_OFFLINE": "1", "IPYTHONDIR": settings})
    return cleaned(notebook)


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """The notebook without what changes from run to run."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in KEPT}
        if cell.cell_type == "code":
            # Trainer shows bars and tables as HTML while it runs; tables of pandas have a text, too.
            texts = [output.get("data", {}).get("text/plain") for output in cell.outputs]
            cell.outputs = [output for output, text in zip(cell.outputs, texts) if text != ONLY_HTML]
    return notebook


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("names", nargs="*", help=f"The notebooks; by default all: {', '.join(notebooks())}.")
    parser.add_argument("--write", action="store_true", help="Write the outputs into the files.")
    given, known = parser.parse_args(arguments), notebooks()
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"{unknown[0]}: no such notebook; the names are {', '.join(known)}")
    for name in given.names or known:
        with TemporaryDirectory() as folder:
            notebook = executed(known[name], Path(folder))
        if given.write:
            write_text(known[name], nbformat.writes(notebook) + "\n")
        print(f"{name}: {len(notebook.cells)} cells ran")


if __name__ == "__main__":
    main()
