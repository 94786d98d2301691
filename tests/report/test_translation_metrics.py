# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores are sacreBLEU's own, and each says what it means."""

import sacrebleu

from modeling_scratch.report.translation import score_table, score_translations
from modeling_scratch.utils.markdown import escaped

REFERENCES = ["Ein Mann mit einem roten Hut.", "Zwei Hunde spielen im Schnee.", "Eine Frau liest."]
TRANSLATIONS = ["Ein Mann mit einem roten Helm.", "Zwei hunde spielen im Schnee.", "Eine Frau schläft."]


def test_equals_sacrebleu_and_each_score_says_what_it_means() -> None:
    bleu, chrf, lower = scores = score_translations(TRANSLATIONS, REFERENCES)
    assert bleu.value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert chrf.value == sacrebleu.corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert lower.value > bleu.value
    assert ("case:mixed" in bleu.signature, "case:lc" in lower.signature) == (True, True)
    table = score_table(scores, "test: 3 texts, beam 5")
    assert table.startswith("test: 3 texts, beam 5\n")
    assert all(escaped(score.signature) in table and f"{score.value:.2f}" in table for score in scores)
