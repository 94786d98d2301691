# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores of translations: sacreBLEU and chrF with signatures, and their table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics import BLEU, CHRF

from ..utils.markdown import table


@dataclass(frozen=True)
class Score:
    """A score between 0 and 100, its definition, and its sacreBLEU signature (Post 2018)."""

    name: str
    value: float
    meaning: str
    signature: str


# The name of a score, how sacreBLEU computes it, and its definition; of texts, and of tokens between blanks.
OF_TEXTS: tuple[tuple[str, Any, dict[str, Any], str], ...] = (
    ("BLEU", BLEU, {}, "detokenised text, cased"),
    ("chrF", CHRF, {}, "characters, detokenised text, cased"),
    ("BLEU lower-cased", BLEU, {"lowercase": True}, "both sides lower-cased, then tokenised by sacreBLEU (13a)"),
)
OF_TOKENS: tuple[tuple[str, Any, dict[str, Any], str], ...] = (
    ("BLEU", BLEU, {"tokenize": "none", "force": True}, "the tokens of the texts as they are"),
    ("chrF", CHRF, {}, "characters of the tokens"),
)


def score_translations(translations: Sequence[str], references: Sequence[str], are_tokens: bool = False) -> list[Score]:
    """Compute cased BLEU and chrF and lower-cased BLEU of detokenised text, with one reference per text.

    are_tokens: the texts are tokens between blanks, of which BLEU and chrF are computed as they are.
    """
    scores = []
    for name, make, options, meaning in OF_TOKENS if are_tokens else OF_TEXTS:
        metric = make(**options)
        value = metric.corpus_score(list(translations), [list(references)]).score
        scores.append(Score(name, value, meaning, str(metric.get_signature())))
    return scores


def score_table(scores: Sequence[Score], what: str) -> str:
    """Return a Markdown table of scores under a heading `what`: split, checkpoint and beam size."""
    rows = [[score.name, f"{score.value:.2f}", score.meaning, score.signature] for score in scores]
    return f"{what}\n\n{table(['score', '', 'definition', 'signature'], rows)}"


def as_metrics(scores: Sequence[Score]) -> list[dict[str, Any]]:
    return [asdict(score) for score in scores]
