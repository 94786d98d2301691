# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A source file as a recorder needs it: which statement a line belongs to, and which equation a function states.

The file is parsed, not run. An equation is the first line of a docstring.
"""

import ast
import textwrap
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class CodeLine:
    """A statement: its file, first and last line, and text without indentation."""

    file: str
    line: int
    end: int
    text: str


class CodeFunction(NamedTuple):
    """A function: its qualified name, the equation it computes, "" if none is stated, and the line of its `def`."""

    name: str
    equation: str
    line: int


@dataclass(frozen=True)
class CodeFile:
    """A Python file; `path` is that of its code objects."""

    path: Path

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def _statements(self) -> dict[int, tuple[int, int]]:
        """Line number -> first and last line of its statement; of a compound statement, those of its head."""
        found: dict[int, tuple[int, int]] = {}
        for node in ast.walk(self.tree):  # outer statements come first, so that inner ones replace them
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
                found.update(dict.fromkeys(range(node.lineno, end + 1), (node.lineno, end)))
        return found

    def statement(self, line: int, is_alone: bool = False) -> CodeLine:
        """Return the statement that a line belongs to, or the line alone."""
        start, end = (line, line) if is_alone else self._statements.get(line, (line, line))
        text = textwrap.dedent("\n".join(self.source.splitlines()[start - 1 : end]))
        return CodeLine(self.path.name, start, end, text)

    @cached_property
    def _functions(self) -> dict[int, CodeFunction]:
        """First line of a function, with its decorators -> the function."""
        found = {}
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        for body, of_class in [(self.tree.body, None), *((each.body, each) for each in classes)]:
            for node in body:
                if isinstance(node, Function):
                    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                    found[first] = self._described(node, of_class)
        return found

    def _described(self, function: Function, owner: ast.ClassDef | None) -> CodeFunction:
        """The docstring of a class states the equation of its forward, and of methods without a docstring."""
        own = first_line(ast.get_docstring(function))
        if owner is None:
            return CodeFunction(function.name, own, function.lineno)
        of_class = first_line(ast.get_docstring(owner))
        equation = of_class if function.name == "forward" else own or of_class
        return CodeFunction(f"{owner.name}.{function.name}", equation, function.lineno)

    def function(self, first: int, name: str) -> CodeFunction:
        """Return the function whose code starts at this line; name: of a function within a function."""
        return self._functions.get(first, CodeFunction(name, "", first))


@lru_cache(maxsize=64)
def code_file(path: Path, changed: int) -> CodeFile:
    """Return the file at a path, parsed once. changed: its time of modification."""
    return CodeFile(path)


def first_line(docstring: str | None) -> str:
    return (docstring or "").strip().partition("\n")[0].strip()
