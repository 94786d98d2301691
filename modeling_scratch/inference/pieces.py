# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labelled pieces of texts: from the groups or the tokens of the library's pipeline to whole words."""

import re
from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from ..data.columns import is_missing
from ..data.tables import Values
from ..data.tagged_sentences import Span, is_in_word, words_of_tokens
from ..utils.errors import DataError
from .answers import shortest

WORD = re.compile(r"\S+")
JOINS = re.compile("[-\u2010\u2011'\u2019]")  # hyphens and apostrophes, which have letters on both sides


class Piece(TypedDict):
    """A piece of a text. Words beyond the limit have no label."""

    text: str
    label: str | None
    score: float | None
    start: int
    end: int


def entities_of(text: str, groups: Sequence[Values]) -> list[Piece]:
    """Return the pieces of a text that the pipeline grouped, up to the ends of their words.

    Of several pieces of one word, the first has it, as the first token of a word decides in training.
    """
    pieces: list[Piece] = []
    for group in groups:
        start, end = _whole_words(text, group["start"], group["end"])
        if pieces and start < (before := pieces[-1]["end"]):
            start = next((at for at in range(before, end) if text[at].isalnum()), end)
        if pieces and _is_same_word(text, pieces[-1], start, end, group["entity_group"]):
            start, end = pieces[-1]["start"], max(at + 1 for at in range(end) if is_in_word(text[at]))
            pieces[-1] |= {"text": text[start:end], "end": end}
        elif start < end:
            pieces.append(_piece(text, start, end, group["entity_group"], group["score"]))
    return pieces


def _whole_words(text: str, start: int, end: int) -> Span:
    """Return the span with the letters and digits next to it, unless its writing system has no blanks.

    Without the blanks at its ends: nothing is left of one that does not show.
    """
    while start < end and is_missing(text[start]):
        start += 1
    while start < end and is_missing(text[end - 1]):
        end -= 1
    while 0 < start < end and is_in_word(text[start - 1]) and is_in_word(text[start]):
        start -= 1
    while start < end < len(text) and is_in_word(text[end - 1]) and is_in_word(text[end]):
        end += 1
    return start, end


def _is_same_word(text: str, before: Piece, start: int, end: int, label: str) -> bool:
    """Return whether a piece goes on with the word of the one before: behind a hyphen or an apostrophe.

    It does if both have the same label, or if the hyphen or apostrophe begins it.
    """
    joint = before["end"]
    if not joint < end or not JOINS.match(text[joint]) or not is_in_word(text[joint - 1]):
        return False
    return start == joint or (start == joint + 1 and label == before["label"] and is_in_word(text[start]))


def words_of(text: str, tokens: Sequence[Values]) -> list[Piece]:
    """Return the words of a text, with the labels of their first tokens."""
    spans = [word.span() for word in WORD.finditer(text)]
    offsets = [(token["start"], token["end"]) for token in tokens]
    try:
        places = words_of_tokens(text, spans, offsets, [0] * len(tokens))
    except ValueError as error:
        raise DataError(f"the tokenizer does not fit a tagger of words: {error}") from error
    firsts: dict[int | None, Values] = {}
    for word, token in zip(places, tokens):
        firsts.setdefault(word, token)
    unread = {"entity": None, "score": None}
    answers = [firsts.get(word, unread) for word in range(len(spans))]
    return [_piece(text, *span, answer["entity"], answer["score"]) for span, answer in zip(spans, answers)]


def _piece(text: str, start: int, end: int, label: str | None, score: Any) -> Piece:
    score = None if score is None else shortest(score)
    return {"text": text[start:end], "label": label, "score": score, "start": start, "end": end}
