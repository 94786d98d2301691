# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The folder of a run: who writes and reads each file, which of them a push takes, and what a new run may use.

The model and its tokenizers are in sharing/model_files, by the rules of the libraries that read them. Only the standard
library, and no other module of ours: `modeling-scratch` asks before it imports anything.
"""

from os.path import lexists
from pathlib import Path
from typing import NamedTuple

RECORD, ALL_RESULTS = "run_config.json", "all_results.json"
PRETRAINING = "pretraining"  # the folder of the first stage in that of a classifier
LOCK_FILE = "_lock"  # Trainer does not push files whose names start with an underscore
SET_ASIDE = "_replaced-"  # begins the name of a folder of an earlier run
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
    Entry("target_tokenizer", "run/trainer", "pipelines", "the tokenizer of the targets"),
    Entry(CARD, "sharing/model_card", "the Hub", "card", is_shared=True),
    Entry(RESULTS, "report/report_files", "run/in_python", "scores", is_shared=True),
    Entry(PREDICTIONS, "report/predictions", "compare", "predictions"),
    Entry(MISCLASSIFIED, "report/quoted_texts", "compare", "wrong answers"),
    Entry("class_words.csv", BEFORE, what="words of classes, by version 0.1.0"),
    Entry(LINEAR, "report/classification_report", "predict", "the linear model"),
    Entry(WORDS, "inference/seen_words", "predict, serve, demo, explain"),
    Entry(TRANSLATIONS.format("*"), "tasks/translate", what="translations"),
    Entry(RECORD, "sharing/run_record", "run/run_folder, sharing", "arguments", is_shared=True),
    Entry(EXAMPLES, "report/report_files", "sharing/card_summary"),
    Entry(EVALUATION, "report/report_files", "compare, sharing", is_shared=True),
    Entry(ALL_RESULTS, "Trainer, by run/life_cycle", "run/layout", is_shared=True),
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


def is_path(name: str) -> bool:
    """Return whether the name of a model is clearly that of a folder, and not one of a repository on the Hub."""
    parts = Path(name).parts
    return len(parts) > 2 or name[:1] in "./~" or (len(parts) == 2 and Path(parts[0]).is_dir())


def refusal(folder: Path, overwrites: bool, is_new: bool = True) -> str | None:
    """Return why a run cannot use the folder; None if it can. is_new: False for a run that continues there."""
    if lexists(folder) and not folder.is_dir():
        return f"--output_dir {folder}: this is a file, or a link to none, and not a folder"
    held, earlier = (entries(folder), runs_set_aside(folder)) if is_new and folder.is_dir() else ([], [])
    if not held and not earlier:
        return None
    if held and not (folder / RECORD).is_file():
        return f"--output_dir {folder} holds files that do not belong to a run; choose another folder"
    if overwrites:
        return None
    aside = f" (the earlier run is in {earlier[-1].name})" if earlier else ""
    begun = any(folder.glob("checkpoint-*")) or any(folder.glob(f"{PRETRAINING}/{RECORD}"))
    what = f"another run{aside};"
    if begun and not (folder / ALL_RESULTS).is_file():
        what = f"an unfinished run{aside}; continue it with --resume_from_checkpoint last,"
    return f"--output_dir {folder} holds {what} choose another folder, or replace it with --overwrite"


def entries(folder: Path) -> list[Path]:
    """Return the content of the folder, without the lock, earlier runs, and a record that was not written in full."""
    ours = {folder / LOCK_FILE, *runs_set_aside(folder)}
    ours |= {path for path in folder.glob(f".{RECORD}.*") if path.suffix[1:].isdecimal()}
    return [path for path in folder.iterdir() if path not in ours]


def runs_set_aside(folder: Path) -> list[Path]:
    """Return the earlier runs that were set aside for the one in the folder, oldest first."""
    paths = (path for path in folder.glob(f"{SET_ASIDE}*") if (path / RECORD).is_file() and not path.is_symlink())
    return sorted((path for path in paths if path.name[len(SET_ASIDE) :].isdecimal()), key=number_of)


def number_of(aside: Path) -> int:
    return int(aside.name.removeprefix(SET_ASIDE))
