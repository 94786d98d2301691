# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A source file as a recorder needs it: which statement a line belongs to. The file is parsed, not run."""

import ast
import textwrap
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path


@dataclass(frozen=True)
class CodeLine:
    """A statement: its file, first and last line, and text without indentation."""

    file: str
    line: int
    end: int
    text: str


@dataclass(frozen=True)
class CodeFile:
    """A Python file; `path` is that of its code objects."""

    path: Path

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def _statements(self) -> dict[int, tuple[int, int]]:
        """Line number -> first and last line of its statement; of a compound statement, those of its head."""
        found: dict[int, tuple[int, int]] = {}
        for node in ast.walk(ast.parse(self.source)):  # outer statements come first, so that inner ones replace them
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
                found.update(dict.fromkeys(range(first, end + 1), (node.lineno, end)))
        return found

    def statement(self, line: int, is_alone: bool = False) -> CodeLine:
        """Return the statement that a line belongs to, or the line alone."""
        start, end = (line, line) if is_alone else self._statements.get(line, (line, line))
        text = textwrap.dedent("\n".join(self.source.splitlines()[start - 1 : end]))
        return CodeLine(self.path.name, start, end, text)


@lru_cache(maxsize=64)
def code_file(path: Path, changed: int) -> CodeFile:
    """Return the file at a path, parsed once. changed: its time of modification."""
    return CodeFile(path)
