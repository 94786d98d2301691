# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The files in the folder of a run: their names, what each is, and which of them a push takes.

The model and its tokenizers are in sharing/model_files, by the rules of the libraries that read them.
"""

from typing import NamedTuple

from ..pipelines import TARGET_FOLDER
from .folder_rule import RECORD as RECORD

CARD, RESULTS, EVALUATION, EXAMPLES = "README.md", "results.md", "evaluation.json", "examples.jsonl"
VERIFICATION, CURVE = "verify.json", "learning_curve.png"
PREDICTIONS, MISCLASSIFIED = "predictions.jsonl", "misclassified.csv"
TRANSLATIONS = "{}.translations.txt"  # of a split
LINEAR = "linear"  # a folder; its n-grams are words of the training texts


class Entry(NamedTuple):
    """A file or folder. name: or a pattern. what: in the summary of a run; "" for those that it leaves out.

    is_shared: whether a push takes it: it has no texts of the data, nor digests of them, which tell who has them.
    """

    name: str
    what: str = ""
    is_shared: bool = False


ENTRIES = (
    Entry(TARGET_FOLDER, "the tokenizer of the targets"),
    Entry(CARD, "card", is_shared=True),
    Entry(RESULTS, "scores", is_shared=True),
    Entry(PREDICTIONS, "predictions"),
    Entry(MISCLASSIFIED, "wrong answers"),
    Entry("class_words.csv", "words of classes, by version 0.1.0"),
    Entry(LINEAR, "the linear model"),
    Entry(TRANSLATIONS.format("*"), "translations"),
    Entry(RECORD, "arguments", is_shared=True),
    Entry(EXAMPLES),
    *(Entry(name, is_shared=True) for name in (EVALUATION, "all_results.json", VERIFICATION, CURVE)),
    Entry("confusion_matrix.png", is_shared=True),
    Entry("predicted_against_true.png", is_shared=True),
    Entry("f1_of_classes.png", is_shared=True),  # by versions up to 0.2.0
    *map(Entry, ("*_results.json", "trainer_state.json", "training_args.bin", "search.md", "study.db*")),
    *map(Entry, ("checkpoint-*", "_*checkpoint-*", "last-checkpoint", "run-*", "runs")),
)
SHARED = tuple(entry.name for entry in ENTRIES if entry.is_shared)
