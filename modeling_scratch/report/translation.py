# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of translations: sacreBLEU and chrF with signatures, and their table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sacrebleu.metrics import BLEU, CHRF

from ..utils.markdown import table


class Score(NamedTuple):
    """A score between 0 and 100, its definition, and its sacreBLEU signature (Post 2018)."""

    name: str
    value: float
    meaning: str
    signature: str


# The name of a score, how sacreBLEU computes it, and its definition.
SCORES: tuple[tuple[str, Any, dict[str, Any], str], ...] = (
    ("BLEU", BLEU, {}, "detokenised text, cased"),
    ("chrF", CHRF, {}, "characters, detokenised text, cased"),
    ("BLEU lower-cased", BLEU, {"lowercase": True}, "both sides lower-cased, then tokenised by sacreBLEU (13a)"),
)


def score_translations(translations: Sequence[str], references: Sequence[str]) -> list[Score]:
    """Compute cased BLEU and chrF and lower-cased BLEU of detokenised text, with one reference per text."""
    scores = []
    for name, make, options, meaning in SCORES:
        metric = make(**options)
        value = metric.corpus_score(list(translations), [list(references)]).score
        scores.append(Score(name, value, meaning, str(metric.get_signature())))
    return scores


def score_table(scores: Sequence[Score], what: str) -> str:
    """Return a Markdown table of scores under a heading `what`: split, checkpoint and beam size."""
    rows = [[score.name, f"{score.value:.2f}", score.meaning, score.signature] for score in scores]
    return f"{what}\n\n{table(['score', '', 'definition', 'signature'], rows)}"
