# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The words that mattered for an answer, by occlusion: the answer's log-odds with a word less those without it.

contribution(w) = s(text) - s(text without w), s = log(p / (1 - p)) (Zeiler and Fergus 2014; Li et al. 2016, for text)

The value describes the model, not the world, and one word at a time: two words that say the same can both have a
contribution near 0, since either suffices.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

MOST_WORDS = 200  # of a text; each costs a pass through the model
WORD = re.compile(r"\S+")


def has_more_words(text: str) -> bool:
    """Return whether a text has words that are not explained."""
    return sum(1 for _ in WORD.finditer(text)) > MOST_WORDS


def with_and_without(text: str) -> Iterator[str]:
    """Yield the text, and then the text without each of its words in turn, up to `MOST_WORDS`."""
    yield text
    spans = [match.span() for match in WORD.finditer(text)]
    for number, (start, end) in enumerate(spans[:MOST_WORDS]):
        if number + 1 < len(spans):
            yield text[:start] + text[spans[number + 1][0] :]
        else:
            yield text[:start].rstrip() + text[end:].rstrip()


def contributions(text: str, scores: Sequence[float | None]) -> list[dict[str, Any]] | None:
    """Return {"word", "contribution"} of each word, in the order of the text.

    scores: of the answer, from the texts of `with_and_without`; None of a text that has no tokens. Without its only
    word, a text has no score, and the contribution is None.
    """
    whole, *others = scores
    if whole is None:
        return None
    words = (match[0] for match in WORD.finditer(text))
    changes = [None if other is None else round(whole - other, 6) for other in others]  # what float32 tells
    return [{"word": word, "contribution": change} for word, change in zip(words, changes)]
