# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pages that explain an answer, as files that a browser opens in a tab of its own."""

from collections.abc import Callable
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

ROUTE = "explanations"
MOST_PAGES = 20  # that are kept

Explain = Callable[[Any, Any, list[str]], Any]  # model, tokenizer, texts -> what has `save(path)`


class Explanations:
    """Pages in a folder that the server reads, the newest ones."""

    def __init__(self, folder: Path, explain: Explain) -> None:
        self.folder, self.explain = folder, explain

    def link(self, model: Any, tokenizer: Any, text: str) -> str:
        """Write the page of a text, and return the HTML of a link to it."""
        path = self.folder / f"{sha256(text.encode()).hexdigest()[:16]}.html"
        self.explain(model, tokenizer, [text]).save(path)
        for old in sorted(self.folder.iterdir(), key=lambda each: each.stat().st_mtime_ns)[:-MOST_PAGES]:
            old.unlink()
        return f'<a href="{escape(ROUTE)}/{path.name}" target="_blank" rel="noopener">Open the explanation</a>'
