# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words of a model's training, for tokenizers of bytes: these read any word, and so have no unknown one."""

import re
from collections.abc import Iterable
from pathlib import Path

from ..data.tagged_sentences import is_in_word
from ..data.text_pairs import parts_of
from ..run.layout import WORDS
from ..utils.files import write_text

WORD = re.compile(r"\w+")


def words_by_lower_case(text: str) -> dict[str, str]:
    """Return the words of a text or a pair by their lower case, but those of writing systems without blanks."""
    words = WORD.findall(" ".join(parts_of(text)))
    return {word.lower(): word for word in words if is_in_word(word[0])}


def save_seen_words(folder: Path, texts: Iterable[str]) -> None:
    """Write the words of the texts of a training to the folder of its run."""
    write_text(folder / WORDS, "\n".join(sorted({word for text in texts for word in words_by_lower_case(text)})))


def read_seen_words(model: str) -> frozenset[str]:
    """Return the words in a model's folder, or above that of a checkpoint; none if nobody has recorded them."""
    folders = [Path(model), *([Path(model).parent] if Path(model).name.startswith("checkpoint-") else ())]
    paths = [folder / WORDS for folder in folders if model]
    return frozenset(next((path.read_text("utf-8", "replace").split("\n") for path in paths if path.is_file()), ()))
