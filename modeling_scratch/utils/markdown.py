# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""User text in a Markdown page: truncated, on one line, and escaped for Markdown and HTML."""

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

LONGEST = 200  # characters of an example text
LONGEST_CELL = 1_000  # characters of any other value

# Characters with a meaning in Markdown or its formulas, inside a line. An underscore within a word has none.
STRUCTURE = re.compile(r"[&<>\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # they would reverse what follows, too


def excerpt(text: str, longest: int = LONGEST) -> str:
    """Return a text as one truncated line, without control characters and unpaired surrogates."""
    line = " ".join(text[: 4 * longest].split())  # a prefix suffices for a long text
    kept = "".join(character for character in line if _shows(character))
    return kept if len(kept) <= longest and len(text) <= 4 * longest else kept[: longest - 1].rstrip() + "…"


def _shows(character: str) -> bool:
    is_control = unicodedata.category(character) in ("Cc", "Cs")
    return not is_control and unicodedata.bidirectional(character) not in DIRECTIONS


def escaped(value: object) -> str:
    """Return a line that Markdown renders literally, with special characters as character references."""
    return STRUCTURE.sub(lambda found: f"&#{ord(found[0])};", excerpt(str(value), LONGEST_CELL))


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table. Cells are escaped, heads are not."""
    lines = [heads, ["---"] * len(heads), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign; never -0.00."""
    return f"{round(100 * difference, 2) + 0.0:+.2f}"


def folded(title: str, text: str) -> str:
    """Return Markdown that a page shows once its title is clicked."""
    return f"<details>\n<summary>{escaped(title)}</summary>\n\n{text}\n\n</details>"


def percent(share: float) -> str:
    return f"{share:.2%}".replace("%", " %")


def as_python(value: Any) -> str:
    """Return a value as Python code, in which strings have double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
