# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The files in the folder of a run: who writes each, who reads it, and which of them a push takes.

The model and its tokenizers are in sharing/model_files, by the rules of the libraries that read them.
"""

from typing import NamedTuple

from ..pipelines import TARGET_FOLDER
from .folder_rule import ALL_RESULTS as ALL_RESULTS
from .folder_rule import PRETRAINING as PRETRAINING
from .folder_rule import RECORD as RECORD

CARD, RESULTS, EVALUATION, EXAMPLES = "README.md", "results.md", "evaluation.json", "examples.jsonl"
VERIFICATION, CURVE = "verify.json", "learning_curve.png"
CONFUSION_MATRIX = "confusion_matrix.png"
PREDICTIONS, MISCLASSIFIED = "predictions.jsonl", "misclassified.csv"
TRANSLATIONS = "{}.translations.txt"  # of a split
LINEAR = "linear"  # a folder; its n-grams are words of the training texts
WORDS = "words.txt"  # of the training texts, where a tokenizer of bytes does not tell which are unknown
TRIALS = "search.json"
HISTORY, PICKLED_ARGUMENTS = "trainer_state.json", "training_args.bin"
UNFINISHED = ".unfinished"  # a folder

# In a checkpoint.
MANIFEST, AVERAGE = "manifest.json", "weight_average.safetensors"


class Entry(NamedTuple):
    """A file or folder."""

    name: str  # or a pattern
    written: str  # by which module or program
    read: str = "people"
    what: str = ""  # in the summary of a run, if that has it
    is_shared: bool = False  # whether a push takes it: without texts of the data, and digests, which tell who has them


BEFORE = "earlier versions"
ENTRIES = (
    Entry(TARGET_FOLDER, "run/trainer", "pipelines", "the tokenizer of the targets"),
    Entry(CARD, "sharing/model_card", "the Hub", "card", is_shared=True),
    Entry(RESULTS, "report/report_files", "run/in_python", "scores", is_shared=True),
    Entry(PREDICTIONS, "report/predictions", "compare", "predictions"),
    Entry(MISCLASSIFIED, "report/quoted_texts", "compare", "wrong answers"),
    Entry("class_words.csv", BEFORE, what="words of classes, by version 0.1.0"),
    Entry(LINEAR, "report/classification_report", "predict", "the linear model"),
    Entry(WORDS, "data/seen_words", "predict, serve, demo"),
    Entry(TRANSLATIONS.format("*"), "tasks/translate", what="translations"),
    Entry(RECORD, "sharing/run_record", "run/run_folder, sharing", "arguments", is_shared=True),
    Entry(EXAMPLES, "report/report_files", "sharing/card_summary"),
    Entry(EVALUATION, "report/report_files", "compare, sharing", is_shared=True),
    Entry(ALL_RESULTS, "Trainer, by run/life_cycle", "run/folder_rule", is_shared=True),
    Entry(VERIFICATION, "sharing/verification", "push, doctor", is_shared=True),
    Entry(CURVE, "report/report_files", "the card", is_shared=True),
    Entry(CONFUSION_MATRIX, "report/classification_report", "the card", is_shared=True),
    Entry("predicted_against_true.png", BEFORE, is_shared=True),
    Entry("f1_of_classes.png", BEFORE, is_shared=True),
    Entry("*_results.json", "Trainer, by run/life_cycle"),
    Entry(HISTORY, "Trainer, by run/life_cycle", "report, sharing, figures"),
    Entry(PICKLED_ARGUMENTS, "Trainer, and run/trainer deletes it"),
    Entry(TRIALS, "run/search"),
    Entry("search.md", BEFORE),
    Entry("study.db*", BEFORE),
    Entry(UNFINISHED, "run/trainer, which renames what is in it", "nobody"),
    Entry("checkpoint-*", "run/trainer", "run/checkpoints"),
    Entry("_*checkpoint-*", "run/checkpoints, of steps that a run went back behind"),
    Entry("last-checkpoint", "the Hub, where it has the last one"),
)
SHARED = tuple(entry.name for entry in ENTRIES if entry.is_shared)
