# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""compare.py: the scores of each run, differences against references, and runs that cannot be compared."""

import json
from collections.abc import Sequence
from pathlib import Path

import compare
import numpy as np
import pytest
from conftest import refused
from scipy.stats import binomtest, bootstrap
from sklearn.metrics import accuracy_score, f1_score, log_loss

from modeling_scratch.evaluation.classification_metrics import paired_bootstrap_interval
from modeling_scratch.evaluation.predictions import PREDICTIONS, Predictions

CLASSES = ["bad", "middling", "good"]
TEXTS = [f"a film, number {number}" for number in range(60)] + ["twice"] * 2
LABELS = np.random.default_rng(0).integers(3, size=len(TEXTS))


def save_run(folder: Path, seed: int, rows: Sequence[int] = range(len(TEXTS)), **changed: object) -> Path:
    """A run that knows the labels to some extent, judged on some rows of the texts."""
    logits = np.random.default_rng(seed).normal(size=(len(TEXTS), 3)) + 2 * np.eye(3)[LABELS]
    values = {"labels": LABELS, "label_names": CLASSES, "split": "test"} | changed
    texts, labels, logits = [TEXTS[row] for row in rows], values["labels"][list(rows)], logits[list(rows)]
    folder.mkdir()
    Predictions.of_logits(values["split"], "d", values["label_names"], texts, labels, logits).save(folder / PREDICTIONS)
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [save_run(tmp_path / f"run{seed}", seed) for seed in (1, 2)]


def compared(*arguments: object) -> dict:
    output = Path(str(arguments[0])).parent / "comparison.json"
    compare.main([*map(str, arguments), "--output", str(output), "--overwrite"])
    return json.loads(output.read_text(encoding="utf-8"))


def columns(folder: Path) -> tuple[list[int], list[int], np.ndarray]:
    """Labels, predictions and probabilities, as any reader of the file finds them."""
    _, *lines = map(json.loads, (folder / PREDICTIONS).read_text().splitlines())
    labels, predictions = ([CLASSES.index(line[name]) for line in lines] for name in ("label", "prediction"))
    return labels, predictions, np.array([line["probabilities"] for line in lines])


def test_scores_and_differences_are_those_of_references(runs: list[Path], capsys: pytest.CaptureFixture) -> None:
    report = compared(*runs)
    right = []
    for folder, scores in zip(runs, report["runs"]):
        labels, predictions, probabilities = columns(folder)
        assert scores["name"] == folder.name, "no path of a user"
        assert scores["accuracy"] == pytest.approx(accuracy_score(labels, predictions))
        assert scores["f1"] == pytest.approx(f1_score(labels, predictions, average="macro"))
        assert scores["negative_log_likelihood"] == pytest.approx(log_loss(labels, probabilities))
        right.append(np.array(labels) == predictions)
    (difference,) = report["differences"]
    only_this, only_first = int((right[1] & ~right[0]).sum()), int((right[0] & ~right[1]).sum())
    assert (difference["only_this_correct"], difference["only_first_correct"]) == (only_this, only_first)
    assert difference["accuracy_difference"] == pytest.approx(right[1].mean() - right[0].mean())
    assert difference["p_value"] == pytest.approx(binomtest(only_this, only_this + only_first).pvalue)
    assert difference["verdict"] == "no difference that these 62 texts can show"
    unequal = [row for row, pair in enumerate(zip(columns(runs[0])[1], columns(runs[1])[1])) if pair[0] != pair[1]]
    assert [int(each["id"].partition("-")[0]) - 1 for each in report["disagreements"]] == unequal
    shown = capsys.readouterr().out
    assert f"{difference['p_value']:.3g} | no difference that these 62 texts can show |" in shown
    assert f"disagree on {len(unequal)} texts" in shown


def test_the_paired_interval_is_that_of_resampled_pairs() -> None:
    """scipy draws the pairs themselves. Where no pair differs, the interval is not a point."""
    rng = np.random.default_rng(3)
    one, other = rng.random(400) < 0.8, rng.random(400) < 0.75
    pairs = one.astype(float) - other
    theirs = bootstrap((pairs,), np.mean, method="percentile", rng=rng).confidence_interval
    assert paired_bootstrap_interval(one, other) == pytest.approx(tuple(theirs), abs=0.006)
    low, high = paired_bootstrap_interval(one, one)
    assert -0.02 < low < 0 < high == -low
    sure = np.ones(30, bool)
    assert paired_bootstrap_interval(sure, ~sure) == (1, 1)


def test_a_better_run_is_called_better(tmp_path: Path) -> None:
    worse, better = save_run(tmp_path / "worse", 1), tmp_path / "better"
    better.mkdir()
    Predictions.of_logits("test", "d", CLASSES, TEXTS, LABELS, 9 * np.eye(3)[LABELS]).save(better / PREDICTIONS)
    assert compared(worse, better)["differences"][0]["verdict"] == "better"
    first, second = compared(better, worse, worse)["differences"]
    assert (first["verdict"], second["verdict"], first["run"]) == ("worse", "worse", "worse (2)")


def test_texts_are_matched_in_any_order(runs: list[Path], tmp_path: Path) -> None:
    rows = [*np.random.default_rng(5).permutation(60), 60, 61]
    expected, found = compared(*runs), compared(runs[0], save_run(tmp_path / "shuffled", 2, rows))
    assert {**found["differences"][0], "run": "run2"} == expected["differences"][0]
    assert [each["id"] for each in found["disagreements"]] == [each["id"] for each in expected["disagreements"]]


def test_texts_of_disagreements_are_looked_up(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rows = [json.dumps({"text": text, "label": int(label)}) for text, label in zip(TEXTS[:-30], LABELS)]
    (tmp_path / "test.jsonl").write_text("\n".join(rows))
    for each in compared(*runs, "--data", tmp_path / "test.jsonl")["disagreements"]:
        row = int(each["id"].partition("-")[0]) - 1
        assert each["text"] == (TEXTS[row] if row < len(rows) else None)
    assert "a film, number" in capsys.readouterr().out


def test_runs_that_cannot_be_compared(runs: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    part = save_run(tmp_path / "part", 1, range(20))
    other = save_run(tmp_path / "other", 1, label_names=["bad", "good", "middling"])
    labels = save_run(tmp_path / "labels", 1, labels=(LABELS + 1) % 3)
    damaged, empty = save_run(tmp_path / "damaged", 1), tmp_path / "empty"
    lines = (damaged / PREDICTIONS).read_text().splitlines()
    empty.mkdir()
    for content in (lines[:-1], lines[1:], [*lines[:-1], lines[-1].replace("probabilities", "p")], []):
        (damaged / PREDICTIONS).write_text("\n".join(content))
        refused(capfd, compare.main, [runs[0], damaged], str(damaged / PREDICTIONS), "damaged")
    for arguments, *pieces in (
        ([runs[0]], "at least two runs"),
        ([runs[0], tmp_path / "none"], "none: folder not found"),
        ([runs[0], empty], "predictions.jsonl: file not found", "train-classifier"),
        ([runs[0], part], "different texts (run1 62, part 20), 20 in common", "--common"),
        ([runs[0], other], "other classes", "bad, good, middling"),
        ([runs[0], labels], "62 texts have other true labels"),
        ([*runs, "--output", tmp_path / "no" / "out.json"], "not found"),
        ([*runs, "--text_column", "text"], "requires --data"),
    ):
        refused(capfd, compare.main, arguments, *pieces)
    report = compared(runs[0], part, "--common")
    assert (report["texts"], report["disagreements"]) == (20, []), "the same weights on a part of the texts"
