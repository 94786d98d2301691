# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the folder of a model says about it: its title, and texts to try."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import ModelCard

from ..data.text_pairs import TEXT_FIELDS
from ..run.layout import CARD, EXAMPLES

MOST_EXAMPLES = 6
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
UNREADABLE = (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError)
# The keys of an example of an evaluation, and of a widget in a card.
FIELDS = (TEXT_FIELDS, ("source",), ("text", "context"))


class Summary(NamedTuple):
    """The title as plain text, and example inputs, each with one text or two."""

    title: str
    examples: list[tuple[str, ...]]


def read_summary(name: str, is_public: bool = False) -> Summary:
    """Read the card and the examples of a folder. What is missing or damaged is left out.

    The examples are those of the card's `widget`, or else the first texts of the run's evaluation. is_public: without
    the latter, which are texts of the data.
    """
    folder = Path(name)
    title, examples = folder.resolve().name if folder.is_dir() else name, []
    with suppress(*UNREADABLE):  # a card is optional, and its metadata can have any type
        card = ModelCard.load(folder / CARD, ignore_metadata_errors=True)
        title = unescape(heading[1]).strip() if (heading := TITLE.search(card.text)) else title
        examples = _examples(card.data.get("widget") or [])
    if not (examples or is_public):
        with suppress(*UNREADABLE):
            lines = (folder / EXAMPLES).read_text(encoding="utf-8").splitlines()
            examples = _examples([json.loads(line) for line in lines])
    return Summary(title, examples)


def _examples(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the texts of some rows, spread over all of them, as they are sorted by class."""
    chosen = rows[:: math.ceil(len(rows) / MOST_EXAMPLES) or 1]
    fields = [[tuple(row[key] for key in keys if isinstance(row.get(key), str)) for keys in FIELDS] for row in chosen]
    return [texts for found in fields if (texts := max(found, key=len))]
