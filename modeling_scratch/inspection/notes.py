# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sentences in the two languages of the page."""


class Note(str):
    """A sentence in English, which has its German beside it."""

    german: str

    def __new__(cls, english: str, german: str) -> "Note":
        note = super().__new__(cls, english)
        note.german = german
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # for copies
        return str(self), self.german
