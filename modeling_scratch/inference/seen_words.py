# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words that a model has not seen: a tokenizer knows them, but for one of bytes, which reads any word.

For such tokenizers, the words of a model's training are recorded.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..data.tagged_sentences import is_in_word
from ..data.text_pairs import parts_of
from ..run.layout import WORDS
from ..utils.files import write_text

WORD = re.compile(r"\w+")


def words_by_lower_case(text: str) -> dict[str, str]:
    """Return the words of a text or a pair by their lower case, but those of writing systems without blanks."""
    words = WORD.findall(" ".join(parts_of(text)))
    return {word.lower(): word for word in words if is_in_word(word[0])}


def words_not_in(known: Collection[str], text: str) -> list[str]:
    """Return the words of a text or a pair that are none of these in lower case."""
    return [word for key, word in words_by_lower_case(text).items() if key not in known]


def save_seen_words(folder: Path, texts: Iterable[str]) -> None:
    """Write the words of the texts of a training to the folder of its run."""
    write_text(folder / WORDS, "\n".join(sorted({word for text in texts for word in words_by_lower_case(text)})))


def read_seen_words(model: str) -> frozenset[str]:
    """Return the words in a model's folder, or above that of a checkpoint; none if nobody has recorded them."""
    folders = [Path(model), *([Path(model).parent] if Path(model).name.startswith("checkpoint-") else ())]
    paths = [folder / WORDS for folder in folders if model]
    return frozenset(next((path.read_text("utf-8", "replace").split("\n") for path in paths if path.is_file()), ()))


def unseen_words(encoding: Any, unknown: int | None, parts: Sequence[str]) -> list[str]:
    """Return the words of a text, or of a pair, for which a tokenizer has its unknown token alone, once each.

    Signs are no words, but of a text that has nothing else.
    """
    if unknown is None or unknown not in encoding.ids:
        return []
    tokens = [each for each in zip(encoding.ids, encoding.sequence_ids, encoding.offsets) if each[1] is not None]
    found = list(dict.fromkeys(parts[side][slice(*span)] for token, side, span in tokens if token == unknown))
    words = [word for word in found if any(map(str.isalnum, word))]
    return words or (found if all(token == unknown for token, *_ in tokens) else [])
