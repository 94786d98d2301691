# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Entities end where their words end, whatever tokens the tokenizer cuts them into."""

import pytest

from modeling_scratch.inference.pieces import entities_of


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("Karl lives in Berlin.", ["Be LOC", "l LOC", "in. PER"], ["Berlin LOC"]),
        ("Karl lives in Berlin.", ["arl PER", "Berlin LOC"], ["Karl PER", "Berlin LOC"]),
        ("at Saint-Tropez-les-Bains", ["Tropez LOC"], ["Tropez LOC"]),
        ("the A380s of 2020", ["80 MISC"], ["A380s MISC"]),
        ("我在北京工作", ["北京 LOC"], ["北京 LOC"]),  # no blanks, no end of a word
        ("東京タワーへ行く", ["東京 LOC", "タワー LOC"], ["東京 LOC", "タワー LOC"]),
        ("Zoë met Ana", ["o PER", "Ana PER"], ["Zoë PER", "Ana PER"]),
        ("in Berlin Mitte", ["Ber ORG", "lin_Mitte LOC"], ["Berlin ORG", "Mitte LOC"]),
        ("in Zu\u0308rich", ["Z LOC"], ["Zu\u0308rich LOC"]),
        ("मुंबई में", ["म LOC"], ["मुंबई LOC"]),
        ("Ana Ross-Vila met", ["Ana_Ross PER", "- LOC", "Vila PER"], ["Ana Ross-Vila PER"]),
        ("Ana Ross-Vila met", ["Ana_Ross PER", "Vila PER"], ["Ana Ross-Vila PER"]),
        ("Sean O'Neill's car", ["Sean_O PER", "Neill PER"], ["Sean O'Neill PER"]),
        ("a Paris-based firm", ["Paris LOC"], ["Paris LOC"]),
        ("Ana - Paris", ["Ana PER", "Paris LOC"], ["Ana PER", "Paris LOC"]),
        ("a\u00a0b", ["\u00a0 LOC"], []),  # a no-break space alone
        ("nothing", [], []),
    ],
)
def test_entities_end_where_their_words_end(text: str, found: list[str], expected: list[str]) -> None:
    groups, begin = [], 0
    for piece, label in (each.split(" ") for each in found):
        piece = piece.replace("_", " ")
        begin = text.index(piece, begin)
        end = begin + len(piece)
        groups.append({"start": begin, "end": end, "entity_group": label, "score": 0.5})
        begin = end
    pieces = entities_of(text, groups)
    assert [f"{piece['text']} {piece['label']}" for piece in pieces] == expected
    assert all(text[piece["start"] : piece["end"]] == piece["text"] for piece in pieces)
