# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of a folder's files, none of which runs any code of them. Each needs the folder of a `Subject` alone."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers
from packaging.version import Version

from ..run.layout import PICKLED_ARGUMENTS
from ..sharing.model_files import all_files, named_code
from ..sharing.verification import differing_files, read_record
from ..utils.errors import counted
from .findings import FallsShort, Need, check, listed, only_if, require

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

FOLDER: Need = (lambda subject: subject.folder is not None, "A model in memory has no folder.")
CODE: Need = (lambda subject: [*subject.folder.glob("*.py")], "The folder brings no code.")
RECORD: Need = (lambda subject: read_record(subject.folder), "The folder has no verify.json.")
NOT_AS_RECORDED = "Get the model and its verify.json from its author, or write a new one by `write_verification`."


@check(
    "Save it with `save_pretrained`, and delete these files.", FOLDER, link="https://huggingface.co/docs/safetensors"
)
def safe_weights(subject: Any) -> None:
    """The weights are in safetensors."""
    paths = [path for path in sorted(subject.folder.iterdir()) if path.suffix in PICKLES]
    found = [path.name for path in paths if path.name != PICKLED_ARGUMENTS]
    require(not found, f"{', '.join(found[:3])} can run code when it is loaded.")


@check("Call `register_for_auto_class` of each class before `save_pretrained`.", FOLDER, link="29714")
def code_is_there(subject: Any) -> None:
    """The code that the folder names is in it."""
    folder = subject.folder
    named = [name for name in named_code(folder, all_files(folder)) if "--" not in name]
    only_if(named, "The folder names no code of its own.")
    missing = [name for name in named if not _defines(folder, name)]
    require(not missing, f"config.json names code that no file has: {', '.join(missing[:3])}.")


def _defines(folder: Path, reference: str) -> bool:
    """Return whether a file of this folder defines or imports a name."""
    file, _, name = reference.rpartition(".")
    path = folder / f"{file}.py"
    nodes = _tree(path).body if path.is_file() else []
    made = {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    imported = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    return name in made | {alias.asname or alias.name for alias in imported}


@check("Write `from .file import name`, and keep the files in one folder.", FOLDER, CODE, link="29251")
def flat_code(subject: Any) -> None:
    """The folder's code consists of files beside each other.

    The library copies `from .x import y` of files beside each other, and no file that they read.
    """
    _check_code(subject.folder, _lost, "What does not survive copying")


@check("Use the public function, or copy the few lines that are needed.", FOLDER, CODE, link="43498")
def public_names(subject: Any) -> None:
    """The folder's code uses public names of torch and transformers.

    Private names change without notice, and the folder then fails in another version.
    """
    _check_code(subject.folder, _private_name, "Private names of the libraries")


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), path.name)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise FallsShort(f"{path.name} is not valid Python: {error}.") from error


def _check_code(folder: Path, fault_of: Callable[[Path, ast.AST], str | None], what: str) -> None:
    """Check that no part of a folder's code has this fault, which is named with its line."""
    faults = [
        f"{path.name}, line {node.lineno}: {fault}"
        for path in sorted(folder.glob("*.py"))
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom | ast.Attribute | ast.Name) and (fault := fault_of(path, node))
    ]
    require(not faults, f"{what}: {'; '.join(faults[:3])}.")


def _lost(path: Path, node: ast.AST) -> str | None:
    """Return what the library does not copy: imports of other places, and `__file__`, by which files are read."""
    if isinstance(node, ast.ImportFrom) and node.level:
        is_flat = node.level == 1 and node.module and "." not in node.module
        return None if is_flat and path.with_name(f"{node.module}.py").is_file() else ast.unparse(node)
    return node.id if isinstance(node, ast.Name) and node.id == "__file__" else None


def _private_name(path: Path, node: ast.AST) -> str | None:
    parts = ast.unparse(node).split(".") if isinstance(node, ast.Attribute) else []
    if isinstance(node, ast.ImportFrom) and not node.level:
        parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    is_private = any(part.startswith("_") and not part.startswith("__") for part in parts)
    return ".".join(parts) if is_private and parts[0] in ("torch", "transformers") else None


@check("Load it with the version that config.json names, and compare the answers.", FOLDER, link="46620")
def known_version(subject: Any) -> None:
    """This version of transformers is not older than the folder, and has its major version."""
    settings = json.loads((subject.folder / "config.json").read_text(encoding="utf-8"))
    require(isinstance(settings, dict), "config.json is no JSON object.")
    require(made := settings.get("transformers_version"), "config.json does not say which transformers saved it.")
    made_by, here = (Version(version).release[:2] for version in (made, transformers.__version__))
    what = f"It was saved with transformers {made}; this is {transformers.__version__}"
    require(made_by <= here, f"{what}, which is older.")
    require(made_by[0] == here[0], f"{what}, of another major version.")


@check(NOT_AS_RECORDED, FOLDER, RECORD)
def recorded_files(subject: Any) -> None:
    """The model's files are those that verify.json records."""
    found = differing_files(subject.folder)
    require(not found, f"{counted(len(found), 'file')} not as recorded in verify.json: {listed(found)}.")
