# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""sacreBLEU and chrF of translations, each with the signature that says what exactly was measured."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics import BLEU, CHRF


@dataclass(frozen=True)
class Score:
    """One figure between 0 and 100, what it means in words, and sacreBLEU's signature of it (Post 2018)."""

    name: str
    value: float
    meaning: str
    signature: str


def score_translations(translations: Sequence[str], references: Sequence[str]) -> list[Score]:
    """BLEU and chrF of detokenised text with its case, and BLEU of the same lower-cased; one reference a text."""
    metrics: list[tuple[str, Any, str]] = [
        ("BLEU", BLEU(), "detokenised text, case counts"),
        ("chrF", CHRF(), "characters, detokenised text, case counts"),
        ("BLEU lower-cased", BLEU(lowercase=True), "both sides lower-cased, then tokenised by sacreBLEU (13a)"),
    ]
    scores = []
    for name, metric, meaning in metrics:
        value = metric.corpus_score(list(translations), [list(references)]).score
        scores.append(Score(name, value, meaning, str(metric.get_signature())))
    return scores


def score_table(scores: Sequence[Score], what: str) -> str:
    """A Markdown table of scores; what: the split, the checkpoint and the beam that they were measured with."""
    rows = [f"| {score.name} | {score.value:.2f} | {score.meaning} | `{score.signature}` |" for score in scores]
    return "\n".join([what, "", "| score | | of what | signature |", "| --- | --- | --- | --- |", *rows])


def as_metrics(scores: Sequence[Score]) -> list[dict[str, Any]]:
    return [asdict(score) for score in scores]
