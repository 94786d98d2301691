# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare runs on the texts that they were evaluated on: scores, differences with intervals, and disagreements."""

import csv
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.labels import is_imbalanced
from ..data.text_files import MAX_FIELD_CHARACTERS
from ..data.text_pairs import from_fields
from ..run.layout import EVALUATION, MISCLASSIFIED, PREDICTIONS, RECORD
from ..utils.errors import DataError, counted, first_few
from ..utils.files import check_output, read_json, write_json
from ..utils.markdown import escaped, excerpt, table
from ..utils.options import REQUIRED, option
from .answer_scores import ANSWER_METRICS
from .metrics import METRICS, NUMBER, ONE_CLASS
from .predictions import ANSWERS, TAGS, Predictions
from .significance import NO_DIFFERENCE, SIGNIFICANCE_LEVEL, Score, scores_table, verdict, with_intervals
from .tag_scores import TAG_METRICS

MOST_ROWS = 5  # of texts with other labels, in an error


OF_SCORES = {**METRICS, **TAG_METRICS, ANSWERS: ANSWER_METRICS}  # by problem type
Key = tuple[str, int]  # the digest of a text, and which of the rows with this text


@dataclass
class CompareArguments:
    """The runs to compare and what to print."""

    RETIRED = {
        "--label_map": "train both runs with the same --label_map",
        "--common": "leave it out; runs are compared on the texts that all have",
    } | dict.fromkeys(
        ("--data", "--text_column", "--delimiter", "--sheet", "--encoding", "--max_file_size"),
        "the texts are those of misclassified.csv in the folders of the runs",
    )
    runs: list[str] = option(
        REQUIRED, "The folders of the runs, before other options; the others are compared with the first."
    )
    labels_of: str | None = option(
        None, "The run by whose true labels all are scored, if labels were corrected between them."
    )
    drop_labels: list[str] | None = option(None, "Leave out the texts whose true label is one of these.")
    show: int = option(20, "The number of disagreements to print; the output file has all of them.")
    output: str | None = option(None, "A JSON file for the scores, differences and disagreements.")
    overwrite: bool = option(False, "Replace the output file.")

    def __post_init__(self) -> None:
        if len(self.runs) < 2:
            raise DataError(f"{' '.join(self.runs)}: name at least two runs, as in `compare runs/a runs/b`")
        if self.show < 0:
            raise DataError(f"--show {self.show}: must not be negative")
        if self.labels_of is not None and self.labels_of not in self.runs:
            raise DataError(f"--labels_of {self.labels_of}: name one of the runs: {', '.join(self.runs)}")
        if self.output is not None:
            check_output("--output", self.output, None, self.overwrite)


def compare(arguments: CompareArguments) -> None:
    """Print a Markdown report. Raises `DataError` for runs that cannot be compared."""
    names = names_of(arguments.runs)
    runs = dict(zip(names, map(read_run, arguments.runs)))
    total = max(len(run.ids) for run in runs.values())
    labels_of = arguments.labels_of and names[arguments.runs.index(arguments.labels_of)]
    runs, relabelled = matched(runs, labels_of, arguments.drop_labels or ())
    first = next(iter(runs.values()))
    disagreements = disagreements_of(runs)
    add_texts(disagreements, runs, arguments.runs)
    imbalanced = first.problem_type == ONE_CLASS and is_imbalanced(first.references)
    report = {
        "split": " or ".join(dict.fromkeys(run.split for run in runs.values())),
        "texts": len(first.ids),
        "labels": first.label_names,
        **({"labels_of": labels_of, "relabelled": relabelled} if labels_of else {}),
        "problem_type": first.problem_type,
        **scores_of(runs, imbalanced or any(map(decided_by_macro_f1, arguments.runs))),
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
    run = Path(folder)
    if not run.is_dir():
        raise DataError(f"{folder}: folder not found")
    if not any((run / name).exists() for name in (PREDICTIONS, RECORD, "config.json")):
        raise DataError(f"{folder}: not the folder of a run")
    if not (run / PREDICTIONS).is_file():
        program = _recorded(run / RECORD, "program")
        what = f"a run of {Path(str(program)).stem.replace('_', '-')}" if program else "a folder"
        raise DataError(
            f"{folder}: {what} without {PREDICTIONS}, which training writes at its end: of classifiers and taggers "
            "from version 0.2.0 on, of models for questions later; compare the scores in the results.md of others"
        )
    return Predictions.load(run)


def _recorded(path: Path, name: str) -> Any:
    """Return an entry of a JSON file of a run, None if the file or the entry is missing or damaged."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        return read_json(path)[name]
    return None


def decided_by_macro_f1(folder: str) -> bool:
    """Return whether the report of a run, also of an earlier version, decides by macro F1."""
    path = Path(folder, EVALUATION)
    return bool(_recorded(path, "macro_f1")) or (_recorded(path, "comparison") or {}).get("score") == "f1_macro"


def keys_of(run: Predictions) -> dict[Key, int]:
    """Return the row of each key. Rows with equal texts are numbered in the order of their labels."""
    digests = [name.rpartition("-")[2] for name in run.ids]
    counts = Counter[str]()
    keys = {}
    for row in sorted(range(len(digests)), key=lambda row: tuple(np.ravel(run.references[row]))):
        keys[digests[row], counts[digests[row]]] = row
        counts[digests[row]] += 1
    return keys


def matched(
    runs: Mapping[str, Predictions], labels_of: str | None = None, dropped: Sequence[str] = ()
) -> tuple[dict[str, Predictions], dict[str, list[str]]]:
    """Return the predictions of all runs on the texts that all have, in the order of the first run.

    labels_of: the run whose true labels are those of all runs; the ids of the texts with others are returned, too.
    dropped: the labels whose texts are left out. Raises `DataError` for runs without a text in common, and for other
    classes and labels (without `labels_of`).
    """
    first_name, labelled = next(iter(runs)), runs[labels_of or next(iter(runs))]
    _check_kinds(runs, dropped, labels_of)
    names = list(dict.fromkeys(name for run in (labelled, *runs.values()) for name in run.label_names))
    runs = {name: run.with_labels(names) for name, run in runs.items()}
    runs = _without(runs, dropped, labels_of or first_name) if dropped else runs
    keys = [keys_of(run) for run in runs.values()]
    shared = sorted(set(keys[0]).intersection(*keys[1:]), key=keys[0].__getitem__)
    if not shared:
        raise DataError(f"{', '.join(runs)}: the runs have no text in common; were they evaluated on the same split?")
    chosen = {name: run.select([key[of] for of in shared]) for (name, run), key in zip(runs.items(), keys)}
    references = chosen[labels_of or first_name].references
    relabelled: dict[str, list[str]] = {}
    for name, run in chosen.items():
        rows = np.flatnonzero(_differ(run.references, references))
        if len(rows) and not labels_of:
            raise _other_labels(name, run, first_name, references, rows)
        relabelled |= {name: [run.ids[row] for row in rows]} if len(rows) else {}
    return {name: replace(run, references=references) for name, run in chosen.items()}, relabelled


def _check_kinds(runs: Mapping[str, Predictions], dropped: Sequence[str], labels_of: str | None) -> None:
    """Raise `DataError` for runs of several problem types or classes, and for labels to drop that they cannot have."""
    (first_name, first), *others = runs.items()
    kept = [set(run.label_names) - set(dropped) for run in runs.values()]
    for (name, run), classes in zip(others, kept[1:]):
        if run.problem_type != first.problem_type:
            types = f"{first.problem_type} and {run.problem_type}"
            raise DataError(f"the problem types of {first_name} and {name} differ: {types}; compare runs of one type")
        if classes != kept[0] and not labels_of:
            listed = " and ".join(first_few(each.label_names) for each in (first, run))
            alone = shlex.join(sorted(classes ^ kept[0])[:MOST_ROWS])
            hint = f"give --labels_of, the run by whose labels to score, or leave out texts: --drop_labels {alone}"
            if classes.isdisjoint(kept[0]):
                hint = "they share none, as runs of one task do"
            raise DataError(f"the classes of {first_name} and {name} differ: {listed}; {hint}")
    if dropped and first.problem_type != ONE_CLASS:
        raise DataError(f"--drop_labels: the runs are of {first.problem_type}, and not of one class a text")
    if unknown := [label for label in dropped if all(label not in run.label_names for run in runs.values())]:
        raise DataError(f"--drop_labels {unknown[0]}: no run has this class; classes: {first_few(first.label_names)}")


def _without(runs: Mapping[str, Predictions], dropped: Sequence[str], labels_of: str) -> dict[str, Predictions]:
    """Return the runs without the texts that have one of the labels by the run `labels_of`, or else by their own."""
    labels = {key: runs[labels_of].references[row] for key, row in keys_of(runs[labels_of]).items()}
    kept = {}
    for name, run in runs.items():
        left_out = {run.label_names.index(label) for label in dropped}
        rows = [row for key, row in keys_of(run).items() if labels.get(key, run.references[row]) not in left_out]
        kept[name] = run.select(sorted(rows))
    return kept


def _other_labels(name: str, run: Predictions, first: str, references: np.ndarray, rows: np.ndarray) -> DataError:
    """Return the error for texts with other true labels in a run, which names the first of them."""
    shown = [
        f"row {run.ids[row].partition('-')[0]} {_shown(run.answer(run.references[row]))} "
        f"({_shown(run.answer(references[row]))} in {first})"
        for row in rows[:MOST_ROWS]
    ]
    return DataError(
        f"{name}: {len(rows):,} texts have other true labels than in {first}: {first_few(shown)}"
        f"{', ...' if len(rows) > MOST_ROWS else ''}; give --labels_of, the run by whose labels to score"
    )


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return whether the labels or predictions of each text are unequal (N,)."""
    return (one != other).reshape(len(one), -1).any(-1)


def scores_of(runs: Mapping[str, Predictions], by_macro_f1: bool = False) -> dict[str, Any]:
    """Return the scores of each run, and the differences of each further run from the first, with paired intervals."""
    (first_name, first), *others = runs.items()
    metrics = OF_SCORES[first.problem_type]
    if by_macro_f1 and first.problem_type == ONE_CLASS:
        metrics = replace(metrics, decisive="f1_macro")
    found = with_intervals(metrics.scores, {name: metrics.read(run) for name, run in runs.items()}, first.references)
    differences = []
    for name, _ in others:
        scores = {key: _negated(value) for key, value in found["differences"][name].items()}
        about: dict[str, Any] = {"run": name, "compared_with": first_name, "scores": scores, "score": metrics.decisive}
        word = verdict(scores[metrics.decisive], metrics.score, len(first.ids))
        differences.append({**about, "verdict": _shown_verdict(word, len(first.ids))})
    return {"runs": [{"name": name, "scores": found["models"][name]} for name in runs], "differences": differences}


def _negated(difference: Mapping[str, Any]) -> dict[str, Any]:
    low, high = difference["interval_95"]
    return {"value": -difference["value"], "interval_95": [-high, -low]}


def _shown_verdict(word: str, examples: int) -> str:
    return f"no difference that these {examples:,} texts can show" if word.startswith(NO_DIFFERENCE) else word


def disagreements_of(runs: Mapping[str, Predictions]) -> list[dict[str, Any]]:
    """Return the texts to which the runs give different answers: id in the first run, label and predictions.

    Numbers that differ most are first; other texts are in the order of the first run.
    """
    first = next(iter(runs.values()))
    unequal = np.any([_differ(run.predicted, first.predicted) for run in runs.values()], axis=0)
    rows = np.flatnonzero(unequal)
    if first.problem_type == NUMBER:
        spread = np.ptp([run.predicted for run in runs.values()], axis=0)
        rows = rows[np.argsort(-spread[rows], kind="stable")]
    return [{"id": first.ids[row], **_answers(runs, int(row))} for row in rows]


def _answers(runs: Mapping[str, Predictions], row: int) -> dict[str, Any]:
    """Return the label and the predictions; of labelled words, those that differ and their numbers, from 1."""
    first = next(iter(runs.values()))
    label = first.answer(first.references[row])
    predictions = {name: run.answer(run.predicted[row]) for name, run in runs.items()}
    if first.problem_type not in TAGS:
        return {"label": label, "predictions": predictions}
    words = [at for at, labels in enumerate(zip(*predictions.values())) if len(set(labels)) > 1]
    return {
        "words": [at + 1 for at in words],
        "label": [label[at] for at in words],
        "predictions": {name: [labels[at] for at in words] for name, labels in predictions.items()},
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
    scores = OF_SCORES[report["problem_type"]].scores
    parts.append(scores_table(scores, {run["name"]: run["scores"] for run in report["runs"]}, "run"))
    parts += [_differences_table(scores, report), *_notes(report)]
    return "\n\n".join([*parts, _disagreements_text(report["disagreements"], show)])


def _differences_table(scores: Sequence[Score], report: Mapping[str, Any]) -> str:
    decisive = next(score.heading for score in scores if score.name == report["differences"][0]["score"])
    heads = [f"compared with {escaped(report['runs'][0]['name'])}", *(score.heading for score in scores)]
    rows = []
    for each in report["differences"]:
        row = [each["run"], *(score.with_interval(each["scores"][score.name], True) for score in scores)]
        rows.append([*row, each["verdict"]])
    return table([*heads, f"verdict ({decisive})"], rows)


def _notes(report: Mapping[str, Any]) -> list[str]:
    notes = [
        f"{escaped(name)} has other true labels of {len(ids):,} texts; those of {escaped(report['labels_of'])} count."
        for name, ids in report.get("relabelled", {}).items()
    ]
    if report["differences"][0]["score"] == "f1_macro":
        notes.append("The classes are weighted or imbalanced: the verdict is that of macro F1, the mean over classes.")
    if (tests := len(report["differences"])) > 1:
        notes.append(
            f"Each of the {tests} tests is at the {SIGNIFICANCE_LEVEL:.0%} level: the more runs, the more of them "
            "differ by chance."
        )
    return notes


def _disagreements_text(disagreements: Sequence[Mapping[str, Any]], show: int) -> str:
    if not disagreements:
        return "The runs give the same answer to every text."
    are_numbers = isinstance(disagreements[0]["label"], float)
    heading = f"The runs disagree on {counted(len(disagreements), 'text')}" + (
        ", most on the first" if are_numbers else ""
    )
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
