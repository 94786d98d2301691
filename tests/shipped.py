# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The code that a saved folder ships: its files for each family, which are parsed, not run."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import modeling_scratch
from modeling_scratch import ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig
from modeling_scratch.configuration_scratch import ScratchConfig

FOLDER = Path(modeling_scratch.__file__).parent
CONFIG_CLASSES: tuple[type[ScratchConfig], ...] = (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig)
PIPELINES = {"pipelines.py", "question_answering.py"}  # shipped with the heads that need them, and not counted


def shipped_files(config_class: type[ScratchConfig]) -> list[Path]:
    """The files that save_pretrained copies: those of config_class.auto_classes, and what they import from here."""
    waiting = sorted({reference.partition(".")[0] for reference in config_class.auto_classes.values()})
    found: set[str] = set()
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += imported_siblings(read(FOLDER / f"{name}.py"))
    return sorted(FOLDER / f"{name}.py" for name in found)


def counted(files: Iterable[Path]) -> list[Path]:
    return [path for path in files if path.name not in PIPELINES]


def statement_count(path: Path) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(read(path))))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def imported_siblings(source: str) -> list[str]:
    """Return the modules imported as `from .file import name`, the form that the Hub resolves."""
    nodes = ast.walk(ast.parse(source))
    return sorted({node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level and node.module})


def private_names(source: str, *libraries: str) -> set[str]:
    """What is imported from a library, or read of it as torch.x._y or getattr(torch.x, "_y"), and is private."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr"):
            found.add(f"{ast.unparse(node.args[0])}.{getattr(node.args[1], 'value', None)}")
    private = (name for name in found if re.search(r"\._(?!\w*__$)", name))
    return {name for name in private if name.split(".")[0] in libraries}
