# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare runs on the texts that they were evaluated on: scores, differences with intervals, and disagreements."""

import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..data.labels import is_imbalanced
from ..data.text_files import MAX_FIELD_CHARACTERS
from ..data.text_pairs import from_fields
from ..run.layout import EVALUATION, MISCLASSIFIED, PREDICTIONS
from ..utils.errors import DataError, counted, first_few
from ..utils.files import check_output, read_json, write_json
from ..utils.markdown import escaped, excerpt, table
from ..utils.options import REQUIRED, option
from .answer_scores import ANSWER_METRICS, score_answers
from .metrics import METRICS, NUMBER, ONE_CLASS, ScoreMetrics
from .predictions import ANSWERS, ENTITIES, WORD_CLASSES, Predictions, as_array
from .significance import SIGNIFICANCE_LEVEL, scores_table, verdict, with_intervals
from .tag_scores import TAG_METRICS, sentence_counts

SHOWN = 20  # disagreements; the output file has all of them

# By problem type: the scores, and what those of lists read of labels and predictions.
OF_SCORES: dict[str, ScoreMetrics] = {**METRICS, **TAG_METRICS, ANSWERS: ANSWER_METRICS}
READ: dict[str, Callable[[Any, Any], Any]] = {
    ENTITIES: partial(sentence_counts, are_entities=True),
    WORD_CLASSES: partial(sentence_counts, are_entities=False),
    ANSWERS: lambda right, found: score_answers(right, ["".join(texts) for texts in found]),
}
Runs = Mapping[str, Predictions]  # by their names


@dataclass
class CompareArguments:
    """The runs to compare and what to print."""

    RETIRED = {
        "--label_map": "train both runs with the same --label_map",
        "--common": "leave it out; runs are compared on the texts that all have",
        "--show": "leave it out; --output writes all disagreements",
        **dict.fromkeys(("--labels_of", "--drop_labels"), "name the run first whose true labels and classes count"),
        **dict.fromkeys(
            ("--data", "--text_column", "--delimiter", "--sheet", "--encoding", "--max_file_size"),
            "the texts are those of misclassified.csv in the folders of the runs",
        ),
    }
    runs: list[str] = option(
        REQUIRED, "The folders of the runs; the others are compared with the first, whose true labels count."
    )
    output: str | None = option(None, "A JSON file for the scores, differences and disagreements.")
    overwrite: bool = option(False, "Replace the output file.")

    def __post_init__(self) -> None:
        if len(self.runs) < 2:
            raise DataError(f"{' '.join(self.runs)}: name at least two runs, as in `compare runs/a runs/b`")
        if self.output is not None:
            check_output("--output", self.output, None, self.overwrite)


def compare(arguments: CompareArguments) -> None:
    """Print a Markdown report. Raises `DataError` for runs that cannot be compared."""
    folders = list(map(Path, arguments.runs))
    names = [folder.name if folder.is_absolute() else str(folder) for folder in folders]  # no path of a user
    names = [f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, 1)]
    runs: Runs = dict(zip(names, map(read_run, folders)))
    total = max(len(run.ids) for run in runs.values())
    runs, relabelled = matched(runs)
    first = runs[names[0]]
    classes = [*dict.fromkeys(name for run in runs.values() for name in run.label_names)]
    report = {
        "split": " or ".join(dict.fromkeys(run.split for run in runs.values())),
        "texts": len(first.ids),
        "labels": classes,
        "problem_type": first.problem_type,
        "relabelled": relabelled,
        **scores_of(runs, classes, any(map(decided_by_macro_f1, folders))),
        "disagreements": disagreements_of(runs, folders),
    }
    print(report_text(report, total))
    if arguments.output is not None:
        write_json(Path(arguments.output), report)


# Reading and matching


def read_run(folder: Path) -> Predictions:
    """Read the predictions of a run. Raises `DataError` if the folder has none."""
    if not folder.is_dir():
        raise DataError(f"{folder}: folder not found")
    if not (folder / PREDICTIONS).is_file():
        raise DataError(
            f"{folder}: a folder without {PREDICTIONS}, which the training of classifiers, taggers and models for "
            "questions writes at its end; compare the scores in the results.md of others"
        )
    return Predictions.load(folder)


def decided_by_macro_f1(folder: Path) -> bool:
    """Return whether the report of a run decides by macro F1."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        return bool(read_json(folder / EVALUATION)["comparison"]["score"] == "f1_macro")
    return False


def keys_of(run: Predictions) -> dict[tuple[str, int], int]:
    """Return the row of each text, by its digest and the number of the row among those with this text.

    Rows with equal texts are numbered in the order of their labels.
    """
    counts = Counter[str]()
    keys = {}
    for row in sorted(range(len(run.ids)), key=lambda row: str(run.labels[row])):
        digest = run.ids[row].rpartition("-")[2]
        keys[digest, counts[digest]] = row
        counts[digest] += 1
    return keys


def matched(runs: Runs) -> tuple[Runs, dict[str, list[str]]]:
    """Return the predictions of all runs on the texts that all have, in the order and with the labels of the first.

    The ids of the texts to which a run gives other true labels are returned, too. Raises `DataError` for runs of
    several problem types, or without a class or a text in common.
    """
    (first_name, first), *others = runs.items()
    for name, run in others:
        if run.problem_type != first.problem_type:
            types = f"{first.problem_type} and {run.problem_type}"
            raise DataError(f"the problem types of {first_name} and {name} differ: {types}; compare runs of one type")
        if first.label_names and {*run.label_names}.isdisjoint(first.label_names):
            listed = " and ".join(first_few(each.label_names) for each in (first, run))
            raise DataError(f"{first_name} and {name} have no class in common, as runs of one task do: {listed}")
    keys = {name: keys_of(run) for name, run in runs.items()}
    shared = sorted(set.intersection(*map(set, keys.values())), key=keys[first_name].__getitem__)
    if not shared:
        raise DataError(f"{', '.join(runs)}: the runs have no text in common; were they evaluated on the same split?")
    chosen = {name: run.select([keys[name][key] for key in shared]) for name, run in runs.items()}
    labels, relabelled = chosen[first_name].labels, {}
    for name, run in chosen.items():
        if ids := [text for text, own, label in zip(run.ids, run.labels, labels) if own != label]:
            relabelled[name] = ids
    return {name: replace(run, labels=labels) for name, run in chosen.items()}, relabelled


# Scores


def scores_of(runs: Runs, classes: Sequence[str], by_macro_f1: bool) -> dict[str, Any]:
    """Return the scores of each run, and the differences of each further run from the first, with paired intervals."""
    first_name, first = next(iter(runs.items()))
    metrics, labels = OF_SCORES[first.problem_type], cast(Any, first.labels)
    as_numbers = partial(as_array, first.problem_type, classes)
    read = READ.get(first.problem_type, lambda _, predictions: as_numbers(predictions))
    values = {name: read(labels, run.predictions) for name, run in runs.items()}
    if first.problem_type in METRICS:
        labels = as_numbers(labels)
    if first.problem_type == ONE_CLASS and (by_macro_f1 or is_imbalanced(labels)):
        metrics = replace(metrics, decisive="f1_macro")
    found = with_intervals(metrics.scores, values, labels)
    differences = []
    for name, of_run in found["differences"].items():
        scores = {
            key: {"value": -each["value"], "interval_95": [-bound for bound in reversed(each["interval_95"])]}
            for key, each in of_run.items()
        }
        word = verdict(scores[metrics.decisive], metrics.score, len(labels))
        compared = {"run": name, "compared_with": first_name, "scores": scores, "score": metrics.decisive}
        differences.append({**compared, "verdict": word})
    return {
        "runs": [{"name": name, "scores": scores} for name, scores in found["models"].items()],
        "differences": differences,
    }


# Disagreements


def disagreements_of(runs: Runs, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the texts to which the runs give different answers: id in the first run, label, predictions, and text.

    Numbers that differ most are first; other texts are in the order of the first run. Of runs that disagree on one
    class per text, at least one is wrong: its wrong answers tell the text, and where it is; else these are None.
    """
    first = next(iter(runs.values()))
    answers = dict(enumerate(zip(*(run.predictions for run in runs.values()))))
    rows = [row for row, found in answers.items() if any(each != found[0] for each in found)]
    if first.problem_type == NUMBER:
        rows.sort(key=lambda row: min(answers[row]) - max(answers[row]))
    wrong = [_wrong_answers(folder / MISCLASSIFIED) for folder in folders]
    disagreements = []
    for row in rows:
        numbers = [run.ids[row].partition("-")[0] for run in runs.values()]
        line = next((lines[number] for lines, number in zip(wrong, numbers) if number in lines), None)
        disagreements.append({
            "id": first.ids[row], "label": first.labels[row], "predictions": dict(zip(runs, answers[row])),
            "where": line and line["where"], "text": line and from_fields(line),
        })  # fmt: skip
    return disagreements


def _wrong_answers(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the table by their numbers in the split; none if the run has none."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    with suppress(OSError, ValueError, LookupError, csv.Error), path.open(encoding="utf-8", newline="") as handle:
        return {row["row"]: row for row in csv.DictReader(handle) if row.keys() >= {"where", "text"}}
    return {}


# The report

OTHER_TEXTS = (
    "The runs were evaluated on different texts. The same ones are held out of the same file, also after some of its "
    "rows are added or dropped, by the same version, --split_seed and --validation_fraction."
)


def report_text(report: Mapping[str, Any], total: int) -> str:
    """Return the report as Markdown. total: the number of texts of the largest run."""
    part = f", those in common of up to {total:,}" if total > report["texts"] else ""
    scores = OF_SCORES[report["problem_type"]].scores
    decisive = next(score.heading for score in scores if score.name == report["differences"][0]["score"])
    heads = [f"compared with {escaped(report['runs'][0]['name'])}", *(score.heading for score in scores)]
    rows = [
        [each["run"], *(score.with_interval(each["scores"][score.name], True) for score in scores), each["verdict"]]
        for each in report["differences"]
    ]
    parts = [
        f"{counted(report['texts'], 'text')} of the {report['split']} split{part}",
        scores_table(scores, {run["name"]: run["scores"] for run in report["runs"]}, "run"),
        table([*heads, f"verdict ({decisive})"], rows),
        *_notes(report, total),
        _disagreements_text(report["disagreements"]),
    ]
    return "\n\n".join(parts)


def _notes(report: Mapping[str, Any], total: int) -> list[str]:
    notes, first = [OTHER_TEXTS] if 2 * report["texts"] < total else [], escaped(report["runs"][0]["name"])
    notes += [
        f"{escaped(name)} has other true labels of {counted(len(ids), 'text')}; those of {first} count. Name the run "
        "first whose labels are right."
        for name, ids in report["relabelled"].items()
    ]
    if rule := OF_SCORES[report["problem_type"]].rule:
        notes.append(rule)
    if report["differences"][0]["score"] == "f1_macro":
        notes.append("The classes are weighted or imbalanced: the verdict is that of macro F1, the mean over classes.")
    if (tests := len(report["differences"])) > 1:
        notes.append(
            f"Each of the {tests} tests is at the {SIGNIFICANCE_LEVEL:.0%} level: the more runs, the more of them "
            "differ by chance."
        )
    return notes


def _disagreements_text(disagreements: Sequence[Mapping[str, Any]]) -> str:
    if not disagreements:
        return "The runs give the same answer to every text."
    most = ", most on the first" if isinstance(disagreements[0]["label"], float) else ""
    first = f". The first {SHOWN}:" if len(disagreements) > SHOWN else ":"
    shown = disagreements[:SHOWN]
    heads = ["text", "label", *map(escaped, shown[0]["predictions"]), "where"]
    rows = [
        [excerpt(each["text"] or f"row {each['id'].partition('-')[0]} of the split"),
         *map(_shown, (each["label"], *each["predictions"].values())), each["where"] or "–"]
        for each in shown
    ]  # fmt: skip
    return f"The runs disagree on {counted(len(disagreements), 'text')}{most}{first}\n\n{table(heads, rows)}"


def _shown(answer: str | list[str] | float) -> str:
    if isinstance(answer, list):
        return ", ".join(answer) or "(none)"
    return f"{answer:.4g}" if isinstance(answer, float) else answer
