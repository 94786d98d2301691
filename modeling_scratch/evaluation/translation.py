# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The evaluation of translations: sacreBLEU and chrF with signatures, tables and examples."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU, CHRF
from transformers import Trainer

from ..data.translation_pairs import TranslationData
from ..inference.text_generators import Generated, Translator
from ..utils.files import write_text
from ..utils.markdown import excerpt
from .plots import translation_curve_png
from .report_files import write_report


@dataclass(frozen=True)
class Score:
    """A score between 0 and 100, its definition, and its sacreBLEU signature (Post 2018)."""

    name: str
    value: float
    meaning: str
    signature: str


def score_translations(translations: Sequence[str], references: Sequence[str], are_tokens: bool = False) -> list[Score]:
    """Compute cased BLEU and chrF and lower-cased BLEU of detokenised text, with one reference per text.

    are_tokens: the texts are tokens between blanks, of which BLEU and chrF are computed as they are.
    """
    scores = []
    for name, metric, meaning in _of_tokens() if are_tokens else _of_text():
        value = metric.corpus_score(list(translations), [list(references)]).score
        scores.append(Score(name, value, meaning, str(metric.get_signature())))
    return scores


def _of_text() -> list[tuple[str, Any, str]]:
    return [
        ("BLEU", BLEU(), "detokenised text, cased"),
        ("chrF", CHRF(), "characters, detokenised text, cased"),
        ("BLEU lower-cased", BLEU(lowercase=True), "both sides lower-cased, then tokenised by sacreBLEU (13a)"),
    ]


def _of_tokens() -> list[tuple[str, Any, str]]:
    return [
        ("BLEU", BLEU(tokenize="none", force=True), "the tokens of the texts as they are"),
        ("chrF", CHRF(), "characters of the tokens"),
    ]


def score_table(scores: Sequence[Score], what: str) -> str:
    """Return a Markdown table of scores under a heading `what`: split, checkpoint and beam size."""
    rows = [f"| {score.name} | {score.value:.2f} | {score.meaning} | `{score.signature}` |" for score in scores]
    return "\n".join([what, "", "| score | | definition | signature |", "| --- | --- | --- | --- |", *rows])


def as_metrics(scores: Sequence[Score]) -> list[dict[str, Any]]:
    return [asdict(score) for score in scores]


EXAMPLES = 5


def report_translation(
    trainer: Trainer, translator: Translator, data: TranslationData, weights: str, is_resumed: bool
) -> str:
    """Return the tables of results. They, all translations and the learning curve are also saved."""
    output = Path(trainer.args.output_dir or "")
    tables, scores, examples = [], {}, []
    for split in [split for split in data.splits if split != "train"]:
        translations = translator.translate(data.sources(split))
        texts = [translation.text for translation in translations]
        scores[split] = score_translations(texts, data.targets(split), data.are_tokens)
        what = f"{split}: {len(translations):,} texts, {weights}, beam {translator.generation['num_beams']}"
        what += _truncations(translator, data.sources(split), translations)
        tables.append(score_table(scores[split], what))
        lines = [" ".join(translation.text.split()) + "\n" for translation in translations]
        write_text(output / f"{split}.translations.txt", "".join(lines))
        examples = _examples(data, split, translations)  # of the last split, the one for the final evaluation
    text = "\n\n".join(tables) + "\n"
    seconds = sum(entry.get("train_runtime", 0) for entry in trainer.state.log_history)
    since = " since resuming" if is_resumed else ""  # the time before is not recorded
    time = f"{seconds / 60:.1f} minutes of training{since}, including validation, on {torch.get_num_threads()} threads"
    metrics = {split: as_metrics(values) for split, values in scores.items()}
    evaluation = {"weights": weights, **metrics, "examples": examples}
    write_report(trainer.args, f"{text}\n{time}\n", evaluation)
    translation_curve_png(trainer.state.log_history, output / "learning_curve.png")
    return "\n" + text


def _examples(data: TranslationData, split: str, translations: Sequence[Generated]) -> list[dict[str, str]]:
    """Return the first examples of the split, without selection."""
    rows = zip(data.splits[split][:EXAMPLES], translations)
    return [
        {"source": excerpt(source), "translation": excerpt(translation.text), "reference": excerpt(target)}
        for (source, target), translation in rows
    ]


def _truncations(translator: Translator, sources: Sequence[str], translations: Sequence[Generated]) -> str:
    notes = ""
    if cut := translator.count_cut(sources):
        notes += f"; {cut:,} sources were truncated to {translator.limit} tokens"
    if cut := sum(translation.is_cut for translation in translations):
        limit = translator.generation["max_new_tokens"]
        notes += f"; {cut:,} translations have no end token and were cut at {limit} tokens"
    return notes
