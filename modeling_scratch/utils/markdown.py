# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Text of users in a Markdown page: cut, on one line, and never read as Markdown or HTML."""

import re
import unicodedata
from collections.abc import Sequence

LONGEST = 200  # characters of a text that is an example
LONGEST_CELL = 1_000  # and of anything else

# What means something to Markdown inside a line, or to formulas there; an underscore within a word does not.
STRUCTURE = re.compile(r"[&<>\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # they would turn what comes after, too


def excerpt(text: str, longest: int = LONGEST) -> str:
    """One line of a text, cut, of characters that UTF-8 can hold and that show."""
    line = " ".join(text[: 4 * longest].split())  # of a book, its beginning is enough
    kept = "".join(character for character in line if _shows(character))
    return kept if len(kept) <= longest and len(text) <= 4 * longest else kept[: longest - 1].rstrip() + "…"


def _shows(character: str) -> bool:
    is_control = unicodedata.category(character) in ("Cc", "Cs")
    return not is_control and unicodedata.bidirectional(character) not in DIRECTIONS


def escaped(value: object) -> str:
    """A line that a Markdown page shows as it is: a character reference never opens or ends anything."""
    return STRUCTURE.sub(lambda found: f"&#{ord(found[0])};", excerpt(str(value), LONGEST_CELL))


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; cells are escaped, heads are not."""
    lines = [heads, ["---"] * len(heads), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(share: float) -> str:
    return f"{share:.2%}".replace("%", " %")
