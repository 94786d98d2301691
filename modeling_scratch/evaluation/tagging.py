# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The evaluation of labels of words: seqeval's scores of entities, scores of classes, a baseline and the report."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from seqeval.metrics import accuracy_score, classification_report
from sklearn.metrics import precision_recall_fscore_support
from transformers import Trainer

from ..data.tagged_sentences import OUTSIDE, Sentence, TaggedData
from ..utils.markdown import excerpt, percent
from .chance import LONGER_OR_PRETRAINED
from .classification_metrics import percentile_interval
from .plots import tagging_curve_png
from .predictions import PREDICTIONS, Predictions
from .report_files import write_report
from .tag_scores import sentence_counts
from .tagging_tables import label_table, tagging_table

Labels = Sequence[Sequence[str]]  # of the words of each sentence
RESAMPLES = 1_000
EXAMPLES = 5
BASELINE = "most frequent label of the word"


def score_labels(gold: Labels, predicted: Labels, are_entities: bool) -> dict[str, Any]:
    """Return accuracy of words, and precision, recall and F1: micro averages of entities, or macro averages of classes.

    An entity counts if its type and both ends are right (Tjong Kim Sang and De Meulder 2003). labels: the scores of
    each type or class. Classes that are never predicted have precision 0.
    """
    gold, predicted = ([list(labels) for labels in side] for side in (gold, predicted))  # seqeval compares lists
    per_label = _of_entities(gold, predicted) if are_entities else _of_classes(gold, predicted)
    average = per_label.pop("average")
    return {"accuracy": float(accuracy_score(gold, predicted)), **average, "labels": per_label}


def _of_entities(gold: Labels, predicted: Labels) -> dict[str, dict[str, float]]:
    if not any(label != OUTSIDE for labels in (*gold, *predicted) for label in labels):
        return {"average": {"precision": 0.0, "recall": 0.0, "f1": 0.0}}
    report = classification_report(gold, predicted, output_dict=True, zero_division=0)
    micro = _named(report.pop("micro avg").values())
    kinds = sorted(report.keys() - {"macro avg", "weighted avg"})
    return {**{kind: _named(report[kind].values()) for kind in kinds}, "average": _without_support(micro)}


def _of_classes(gold: Labels, predicted: Labels) -> dict[str, dict[str, float]]:
    flat = [[label for labels in side for label in labels] for side in (gold, predicted)]
    names = sorted(set(flat[0]) | set(flat[1]))
    columns = precision_recall_fscore_support(*flat, labels=names, average=None, zero_division=0)
    average = precision_recall_fscore_support(*flat, labels=names, average="macro", zero_division=0)[:3]
    return {**{name: _named(row) for name, row in zip(names, zip(*columns))}, "average": _named(average)}


def _named(values: Any) -> dict[str, float]:
    return {name: float(value) for name, value in zip(("precision", "recall", "f1", "number"), values)}


def _without_support(scores: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in scores.items() if name != "number"}


def sentence_interval(gold: Labels, predicted: Labels, are_entities: bool, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % percentile-bootstrap interval of entity F1, or of the accuracy of words.

    Whole sentences are drawn, as the words of one are not independent. Both scores are 2 right / (predicted + given):
    of entities, or of words.
    """
    counts = np.array([sentence_counts(*pair, are_entities) for pair in zip(gold, predicted)])
    generator = np.random.default_rng(seed)
    drawn = (counts[generator.integers(len(counts), size=len(counts))].sum(0) for _ in range(RESAMPLES))
    low, high = percentile_interval([2 * right / max(1, found + given) for right, found, given in drawn])
    return float(low), float(high)


class FrequentLabels:
    """The baseline: the most frequent label of a word in train; of unknown words, the most frequent label."""

    def __init__(self, train: Sequence[Sentence]) -> None:
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in train:
            for word, label in zip(sentence.words, sentence.labels):
                counts[word][label] += 1
        self.label_of = {word: labels.most_common(1)[0][0] for word, labels in counts.items()}
        self.otherwise = sum(counts.values(), Counter[str]()).most_common(1)[0][0]

    def predict(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        return [[self.label_of.get(word, self.otherwise) for word in sentence.words] for sentence in sentences]


def report_tagging(
    trainer: Trainer, data: TaggedData, split: str, predicted: Labels, baseline: Labels, notes: Sequence[str] = ()
) -> str:
    """Return the tables of results. Tables, scores and learning curve are also written to the run's folder."""
    output = Path(trainer.args.output_dir or "")
    evaluation = evaluate_tagging(data, split, predicted, baseline)
    words = sum(len(one.words) for one in data.splits[split])
    text = [f"{line} {LONGER_OR_PRETRAINED}"] if (line := evaluation["headline"]) else []
    text.append(f"{len(data.splits[split]):,} sentences with {words:,} words of the {split} split")
    text += [tagging_table(evaluation), label_table(evaluation), *notes]
    page = "\n\n".join(text) + "\n"
    write_report(trainer.args, page, evaluation)
    about = data.are_entities, split, str(data.digests()[split]), data.label_names, data.texts(split)
    Predictions.of_tags(*about, [one.labels for one in data.splits[split]], predicted).save(output / PREDICTIONS)
    name = "F1 of entities, validation" if data.are_entities else "macro F1, validation"
    tagging_curve_png(trainer.state.log_history, output / "learning_curve.png", name)
    return f"\n{page}"


def evaluate_tagging(data: TaggedData, split: str, predicted: Labels, baseline: Labels) -> dict[str, Any]:
    """Return the scores and the first sentences, without selection."""
    sentences, are_entities = data.splits[split], data.are_entities
    gold = [sentence.labels for sentence in sentences]
    scores = {}
    for name, labels in (("model", predicted), ("baseline", baseline)):
        interval = sentence_interval(gold, labels, are_entities)
        scores[name] = {**score_labels(gold, labels, are_entities), "interval_95": interval}
    shown = zip(sentences[:EXAMPLES], predicted)
    return {
        "split": split,
        "sentences": len(sentences),
        "are_entities": are_entities,
        "headline": headline(predicted, scores["model"], scores["baseline"], are_entities),
        **scores["model"],
        "baseline": {"name": BASELINE, **scores["baseline"]},
        "examples": [
            {"text": excerpt(one.text), "labels": _marked(one.words, one.labels), "answer": _marked(one.words, labels)}
            for one, labels in shown
        ],
    }


def headline(predicted: Labels, model: dict[str, Any], baseline: dict[str, Any], are_entities: bool) -> str | None:
    """Return what a report says first of a tagger that nobody should use, or None."""
    if len(used := {label for labels in predicted for label in labels}) == 1:
        return f"The Transformer predicts {used.pop()} for every word: it has not learned."
    name, score = ("F1 of entities", "f1") if are_entities else ("accuracy", "accuracy")
    if model[score] > baseline[score] or model[score] == 1:
        return None
    values = " and ".join(percent(scores[score]) for scores in (model, baseline))
    return f"The Transformer is no better than the {BASELINE}: {name} {values}."


def _marked(words: Sequence[str], labels: Sequence[str]) -> str:
    """Return a sentence with word/label for each label but O."""
    return excerpt(" ".join(word if label == OUTSIDE else f"{word}/{label}" for word, label in zip(words, labels)))
