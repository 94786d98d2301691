# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare runs on the texts that they were evaluated on: scores, differences with intervals, and disagreements."""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data.labels import is_imbalanced
from ..data.tables import MAX_FIELD_CHARACTERS
from ..data.text_pairs import from_fields
from ..run.layout import EVALUATION, MISCLASSIFIED, PREDICTIONS, RECORD
from ..tasks import trained_by
from ..utils.command_line import option
from ..utils.errors import DataError
from ..utils.files import check_output, write_json
from ..utils.markdown import escaped, excerpt, percent, points, table
from .calibration import expected_calibration_error, negative_log_likelihood
from .classification_report import scores_table
from .metrics import MACRO_F1, METRICS, ClassificationMetrics, ScoreMetrics
from .predictions import ONE_CLASS, TAGS, Predictions
from .significance import (
    SIGNIFICANCE_LEVEL,
    Score,
    bootstrap_interval,
    mcnemar,
    paired_bootstrap_interval,
    shown_verdict,
    verdict,
)
from .tag_scores import TAG_METRICS, tag_counts
from .verdicts import one_hot

CLASSIFIER = "train_classifier"
OF_SCORES = {**METRICS, **TAG_METRICS}  # by problem type
OF_MACRO_F1 = ScoreMetrics((MACRO_F1,), MACRO_F1.name)  # of runs with one class per text
Key = tuple[str, int]  # the digest of a text, and which of the rows with this text


@dataclass
class CompareArguments:
    """The runs to compare and what to print."""

    RETIRED = {"--label_map": "train both runs with the same --label_map"} | dict.fromkeys(
        ("--data", "--text_column", "--delimiter", "--sheet", "--encoding", "--max_file_size"),
        "the texts are those of misclassified.csv in the folders of the runs",
    )
    runs: list[str] = field(
        metadata={"help": "The folders of the runs, before other options; the others are compared with the first."}
    )
    common: bool = field(
        default=False,
        metadata={"help": "Compare on the texts in common, if the runs were evaluated on different ones."},
    )
    show: int = option(default=20, help="The number of disagreements to print; the output file has all of them.")
    output: str | None = option(default=None, help="A JSON file for the scores, differences and disagreements.")
    overwrite: bool = option(default=False, help="Replace the output file.")

    def __post_init__(self) -> None:
        if len(self.runs) < 2:
            raise DataError(f"{' '.join(self.runs)}: name at least two runs, as in `compare runs/a runs/b`")
        if self.show < 0:
            raise DataError(f"--show {self.show}: must not be negative")
        if self.output is not None:
            check_output("--output", self.output, None, self.overwrite)


def compare(arguments: CompareArguments) -> None:
    """Print a Markdown report. Raises `DataError` for runs that cannot be compared."""
    runs = dict(zip(names_of(arguments.runs), map(read_run, arguments.runs)))
    total = max(len(run.ids) for run in runs.values())
    runs = matched(runs, arguments.common)
    first = next(iter(runs.values()))
    disagreements = disagreements_of(runs)
    add_texts(disagreements, runs, arguments.runs)
    by_macro_f1 = any(map(decided_by_macro_f1, arguments.runs))
    report = {
        "split": " or ".join(dict.fromkeys(run.split for run in runs.values())),
        "texts": len(first.ids),
        "labels": first.label_names,
        "problem_type": first.problem_type,
        **(compare_one_class(runs, by_macro_f1) if first.problem_type == ONE_CLASS else compare_scores(runs)),
        "disagreements": disagreements,
    }
    print(report_text(report, total, arguments.show))
    if arguments.output is not None:
        write_json(Path(arguments.output), report)


def names_of(folders: Sequence[str]) -> list[str]:
    """Return the names of the runs in the report: the folders as given, without their parents if absolute."""
    names = [Path(folder).name if Path(folder).is_absolute() else str(Path(folder)) for folder in folders]
    counts = Counter(names)
    return [f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(names, 1)]


def read_run(folder: str) -> Predictions:
    """Read the predictions of a run. Raises `DataError` if the folder has none."""
    if not Path(folder).is_dir():
        raise DataError(f"{folder}: folder not found")
    path = Path(folder) / PREDICTIONS
    if not any(Path(folder, name).exists() for name in (PREDICTIONS, RECORD, "config.json")):
        raise DataError(f"{folder}: not the folder of a run")
    program = _program_of(Path(folder)) or CLASSIFIER
    task = trained_by(program)
    if not path.is_file() and not (task and task.keeps_predictions):
        raise DataError(
            f"{folder}: a run of {program.replace('_', '-')}, which keeps no predictions to compare; compare the "
            "scores in the results.md of the runs"
        )
    return Predictions.load(path)


def decided_by_macro_f1(folder: str) -> bool:
    """Return whether the report of a run compares by macro F1, as far as that is recorded."""
    return bool(_recorded(Path(folder, EVALUATION), "macro_f1"))


def _program_of(folder: Path) -> str | None:
    """Return the name of the program whose run is in the folder, if that is recorded."""
    program = _recorded(folder / RECORD, "program")
    return Path(program).stem if isinstance(program, str) else None


def _recorded(path: Path, name: str) -> Any:
    """Return an entry of a JSON file of a run, None if the file or the entry is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))[name]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def keys_of(run: Predictions) -> dict[Key, int]:
    """Return the row of each key. Rows with equal texts are numbered in the order of their labels."""
    digests = [name.rpartition("-")[2] for name in run.ids]
    counts = Counter[str]()
    keys = {}
    for row in sorted(range(len(digests)), key=lambda row: tuple(np.ravel(run.references[row]))):
        keys[digests[row], counts[digests[row]]] = row
        counts[digests[row]] += 1
    return keys


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:10], *(["..."] if len(names) > 10 else [])])


def matched(runs: Mapping[str, Predictions], common: bool) -> dict[str, Predictions]:
    """Return the predictions of all runs on the same texts, in the order of the first run.

    Raises `DataError` for other classes, other texts (without `common`) or other labels.
    """
    (first_name, first), *others = runs.items()
    for name, run in others:
        if run.problem_type != first.problem_type:
            types = f"{first.problem_type} and {run.problem_type}"
            raise DataError(f"the problem types of {first_name} and {name} differ: {types}; compare runs of one type")
        if run.label_names != first.label_names:
            classes = " and ".join(_listed(each.label_names) for each in (first, run))
            hint = "train both with the same --label_map to merge classes"
            raise DataError(f"the classes of {first_name} and {name}, or their order, differ: {classes}; {hint}")
    keys = [keys_of(run) for run in runs.values()]
    shared = sorted(set(keys[0]).intersection(*keys[1:]), key=keys[0].__getitem__)
    if not shared:
        raise DataError(f"{', '.join(runs)}: the runs have no text in common; were they evaluated on the same split?")
    sizes = ", ".join(f"{name} {len(run.ids):,}" for name, run in runs.items())
    if not common and any(len(run.ids) > len(shared) for run in runs.values()):
        raise DataError(
            f"the runs were evaluated on different texts ({sizes}), {len(shared):,} in common; give --common"
        )
    chosen = {name: run.select([key[of] for of in shared]) for (name, run), key in zip(runs.items(), keys)}
    for name, run in chosen.items():
        if unequal := int(_differ(run.references, chosen[first_name].references).sum()):
            raise DataError(f"{name}: {unequal:,} texts have other true labels than in {first_name}; use the same data")
    return chosen


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return whether the labels or predictions of each text are unequal (N,)."""
    return (one != other).reshape(len(one), -1).any(-1)


def compare_one_class(runs: Mapping[str, Predictions], by_macro_f1: bool = False) -> dict[str, Any]:
    """Return the scores of each run, and the differences of each further run from the first.

    Where classes are imbalanced, or by_macro_f1 is True, "macro_f1" has the comparison that decides.
    """
    scores = [{"name": name, **scores_of(run)} for name, run in runs.items()]
    decides = by_macro_f1 or is_imbalanced(next(iter(runs.values())).references)
    found = {"macro_f1": compare_by_macro_f1(runs)} if decides else {}
    return {"runs": scores, "differences": differences_of(runs), **found}


def compare_scores(runs: Mapping[str, Predictions]) -> dict[str, Any]:
    """Return the scores of each run, and the differences from the first, with paired bootstrap intervals.

    The verdict is that of the decisive score of the problem type.
    """
    first = next(iter(runs.values()))
    answers = {name: tag_counts(run) if run.problem_type in TAGS else run.predicted for name, run in runs.items()}
    return _compared(OF_SCORES[first.problem_type], answers, first.references)


def compare_by_macro_f1(runs: Mapping[str, Predictions]) -> dict[str, Any]:
    """Return what `compare_scores` does, for runs with one class per text: the macro F1 of the classes that occur."""
    references = next(iter(runs.values())).references
    classes = np.unique(references)
    answers = {name: one_hot(run.predicted, classes) for name, run in runs.items()}
    return _compared(OF_MACRO_F1, answers, one_hot(references, classes))


def _compared(metrics: ScoreMetrics, answers: Mapping[str, np.ndarray], references: np.ndarray) -> dict[str, Any]:
    found = metrics.with_intervals(answers, references)
    first, *others = answers
    differences = []
    for name in others:
        scores = {key: _negated(value) for key, value in found["differences"][name].items()}
        word = verdict(scores[metrics.decisive], metrics.score, len(references))
        about = {"run": name, "compared_with": first, "scores": scores, "score": metrics.decisive}
        differences.append({**about, "verdict": shown_verdict(word, len(references))})
    return {"runs": [{"name": name, "scores": found["models"][name]} for name in answers], "differences": differences}


def _negated(difference: Mapping[str, Any]) -> dict[str, Any]:
    low, high = difference["interval_95"]
    return {"value": -difference["value"], "interval_95": [-high, -low]}


def scores_of(run: Predictions) -> dict[str, Any]:
    scores = ClassificationMetrics(run.label_names).compute(run.predicted, run.references)
    return {
        "accuracy": scores["accuracy"],
        "accuracy_interval_95": bootstrap_interval(run.correct),
        "f1": scores["f1"],
        "f1_macro": scores["f1_macro"],
        "negative_log_likelihood": negative_log_likelihood(run.logits, run.references),
        "expected_calibration_error": expected_calibration_error(run.logits, run.references),
    }


def differences_of(runs: Mapping[str, Predictions]) -> list[dict[str, Any]]:
    """Compare the accuracy of each further run with that of the first."""
    (first_name, first), *others = runs.items()
    differences = []
    for name, run in others:
        test = mcnemar(run.correct, first.correct)
        differences.append(
            {
                "run": name,
                "compared_with": first_name,
                "accuracy_difference": float(run.correct.mean() - first.correct.mean()),
                "interval_95": paired_bootstrap_interval(run.correct, first.correct),
                "only_this_correct": test.only_model_correct,
                "only_first_correct": test.only_baseline_correct,
                "p_value": test.p_value,
                "verdict": shown_verdict(test.verdict, len(run.ids)),
            }
        )
    return differences


def disagreements_of(runs: Mapping[str, Predictions]) -> list[dict[str, Any]]:
    """Return the texts to which the runs give different answers: id in the first run, label and predictions.

    Numbers that differ most are first; other texts are in the order of the first run.
    """
    first = next(iter(runs.values()))
    unequal = np.any([_differ(run.predicted, first.predicted) for run in runs.values()], axis=0)
    rows = np.flatnonzero(unequal)
    if first.problem_type == "regression":
        spread = np.ptp([run.predicted for run in runs.values()], axis=0)
        rows = rows[np.argsort(-spread[rows], kind="stable")]
    return [
        _of_words(runs, int(row))
        if first.problem_type in TAGS
        else {
            "id": first.ids[row],
            "label": first.answer(first.references[row]),
            "predictions": {name: run.answer(run.predicted[row]) for name, run in runs.items()},
        }
        for row in rows
    ]


def _of_words(runs: Mapping[str, Predictions], row: int) -> dict[str, Any]:
    """Return a disagreement on labels of words: of those words alone, and their numbers in the sentence, from 1."""
    first = next(iter(runs.values()))
    answers = [run.predicted[row] for run in runs.values()]
    words = [word for word, labels in enumerate(zip(*answers)) if len(set(labels)) > 1]
    return {
        "id": first.ids[row],
        "words": [word + 1 for word in words],
        "label": [first.references[row][word] for word in words],
        "predictions": {name: [run.predicted[row][word] for word in words] for name, run in runs.items()},
    }


def add_texts(disagreements: Sequence[dict[str, Any]], runs: Mapping[str, Predictions], folders: Sequence[str]) -> None:
    """Add to each disagreement its text and where it is, which the wrong answers of the runs tell; else None.

    Of runs that disagree on one class per text, at least one is wrong.
    """
    places = {name: place for place, name in enumerate(next(iter(runs.values())).ids)}
    wrong = [_wrong_answers(Path(folder, MISCLASSIFIED)) for folder in folders]
    for each in disagreements:
        rows = [run.ids[places[each["id"]]].partition("-")[0] for run in runs.values()]
        found = next((of_run[row] for of_run, row in zip(wrong, rows) if row in of_run), None)
        each["where"], each["text"] = (found["where"], from_fields(found)) if found else (None, None)


def _wrong_answers(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the table by their numbers in the split; none if the run has none."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            return {row["row"]: row for row in csv.DictReader(handle) if row.keys() >= {"where", "text"}}
    except (OSError, ValueError, LookupError, csv.Error):
        return {}


def report_text(report: Mapping[str, Any], total: int, show: int) -> str:
    """Return the report as Markdown. total: the number of texts of the largest run."""
    part = f", those in common of up to {total:,}" if total > report["texts"] else ""
    parts = [f"{report['texts']:,} texts of the {report['split']} split{part}"]
    if report["problem_type"] == ONE_CLASS:
        parts += [_scores_table(report), *_macro_f1_text(report), _differences_table(report)]
    else:
        metrics = OF_SCORES[report["problem_type"]]
        scores = {run["name"]: run["scores"] for run in report["runs"]}
        parts += [scores_table(metrics.scores, scores, "run"), _score_differences_table(metrics.score, report)]
    return "\n\n".join([*parts, *_notes(report), _disagreements_text(report["disagreements"], show)])


def _scores_table(report: Mapping[str, Any]) -> str:
    f1_name = ClassificationMetrics(report["labels"]).f1_name
    f1_scores = {"f1": f1_name}  # the macro average of three classes or more
    if "macro_f1" in report and len(report["labels"]) == 2:
        f1_scores["f1_macro"] = "macro F1"
    heads = ["run", "accuracy", "95 % interval", *f1_scores.values(), "negative log likelihood", "calibration error"]
    rows = [
        [
            run["name"],
            percent(run["accuracy"]),
            " to ".join(map(percent, run["accuracy_interval_95"])),
            *(percent(run[name]) for name in f1_scores),
            f"{run['negative_log_likelihood']:.4f}",
            percent(run["expected_calibration_error"]),
        ]
        for run in report["runs"]
    ]
    return table(heads, rows)


def _macro_f1_text(report: Mapping[str, Any]) -> list[str]:
    if "macro_f1" not in report:
        return []
    reason = "The classes are weighted or imbalanced, so macro F1, the mean over the classes, says more than accuracy:"
    return [reason, _score_differences_table(MACRO_F1, report["macro_f1"]), "Accuracy:"]


def _differences_table(report: Mapping[str, Any]) -> str:
    first = report["runs"][0]["name"]
    heads = [f"compared with {escaped(first)}", "accuracy", "95 % interval", "right alone", "p", "verdict"]
    rows = [
        [
            each["run"],
            points(each["accuracy_difference"]),
            " to ".join(map(points, each["interval_95"])),
            f"{each['only_this_correct']:,} : {each['only_first_correct']:,}",
            f"{each['p_value']:.3g}",
            each["verdict"],
        ]
        for each in report["differences"]
    ]
    return table(heads, rows)


def _score_differences_table(score: Score, report: Mapping[str, Any]) -> str:
    heads = [f"compared with {escaped(report['runs'][0]['name'])}", score.heading, "95 % interval", "verdict"]
    rows = []
    for each in report["differences"]:
        difference = each["scores"][score.name]
        values = list(map(score.shown_difference, (difference["value"], *difference["interval_95"])))
        rows.append([each["run"], values[0], " to ".join(values[1:]), each["verdict"]])
    return table(heads, rows)


def _notes(report: Mapping[str, Any]) -> list[str]:
    notes = []
    if (tests := len(report["differences"])) > 1:
        notes.append(
            f"Each of the {tests} tests is at the {SIGNIFICANCE_LEVEL:.0%} level: the more runs, the more of them "
            "differ by chance."
        )
    if "validation" in report["split"] and report["problem_type"] == ONE_CLASS:
        notes.append(
            "The runs were evaluated on validation, where their temperatures are fitted: their log likelihoods and "
            "calibration errors are better than on new texts."
        )
    return notes


def _disagreements_text(disagreements: Sequence[Mapping[str, Any]], show: int) -> str:
    if not disagreements:
        return "The runs give the same answer to every text."
    are_numbers = isinstance(disagreements[0]["label"], float)
    heading = f"The runs disagree on {len(disagreements):,} texts" + (", most on the first" if are_numbers else "")
    heading += f". The first {show:,}:" if 0 < show < len(disagreements) else ":" if show else "."
    if not show:
        return heading
    shown = disagreements[:show]
    heads = ["id", "label", *map(escaped, shown[0]["predictions"])]
    rows = [[each["id"], *map(_shown, (each["label"], *each["predictions"].values()))] for each in shown]
    if any(each["text"] for each in shown):
        heads += ["where", "text"]
        rows = [[*row, each["where"] or "–", excerpt(each["text"] or "–")] for row, each in zip(rows, shown)]
    return f"{heading}\n\n{table(heads, rows)}"


def _shown(answer: str | list[str] | float) -> str:
    if isinstance(answer, list):
        return ", ".join(answer) or "(none)"
    return f"{answer:.4g}" if isinstance(answer, float) else answer
