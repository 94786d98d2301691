# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labelled pieces of texts: from the groups or the tokens of the library's pipeline to whole words."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from ..data.tables import Values
from ..data.tagged_sentences import words_of_tokens
from ..utils.errors import DataError

WORD = re.compile(r"\S+")
# Thai, Lao, Burmese, Khmer, Kana and Han.
WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
Piece = dict[str, Any]  # {"text", "label", "score", "start", "end"}


def entities_of(text: str, groups: Sequence[Values]) -> list[Piece]:
    """Return the pieces of a text that the pipeline grouped, up to the ends of their words.

    Of several pieces of one word, the first has it, as the first token of a word decides in training.
    """
    pieces: list[Piece] = []
    for group in groups:
        start, end = _whole_words(text, group["start"], group["end"])
        if pieces and start < (before := pieces[-1]["end"]):
            start = next((at for at in range(before, end) if text[at].isalnum()), end)
        if start < end:
            pieces.append(_piece(text, start, end, group["entity_group"], group["score"]))
    return pieces


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with the letters and digits next to it, unless its writing system has no blanks."""
    while start > 0 and _is_in_word(text[start - 1]) and _is_in_word(text[start]):
        start -= 1
    while end < len(text) and _is_in_word(text[end - 1]) and _is_in_word(text[end]):
        end += 1
    return start, end


def _is_in_word(character: str) -> bool:
    is_letter = character.isalnum() or unicodedata.category(character).startswith("M")
    return is_letter and not WITHOUT_BLANKS.match(character)


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
    score = None if score is None else float(score)
    return {"text": text[start:end], "label": label, "score": score, "start": start, "end": end}
