# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A source file as a recorder needs it: which statement a line belongs to. The file is parsed, not run."""

import ast
import textwrap
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class CodeLine(NamedTuple):
    """A statement: its file, first and last line, and text without indentation."""

    file: str
    line: int
    end: int
    text: str


@lru_cache(maxsize=64)
def code_lines(path: Path, changed: int) -> dict[int, CodeLine]:
    """Return the statement of each line of a file; of a compound statement, its head; of a lambda, its lines alone.

    changed: the time of the file's modification.
    """
    source = path.read_text(encoding="utf-8")
    lines, found = source.splitlines(), {}
    for node in ast.walk(ast.parse(source)):  # outer statements come first, so that inner ones replace them
        if isinstance(node, ast.stmt | ast.Lambda):
            body, last = getattr(node, "body", None), node.end_lineno or node.lineno
            end = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) else last
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            text = textwrap.dedent("\n".join(lines[node.lineno - 1 : end]))
            found.update(dict.fromkeys(range(first, end + 1), CodeLine(path.name, node.lineno, end, text)))
    return found
