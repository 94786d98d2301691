# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""compare.py: the scores of each run, differences against references, and runs that cannot be compared."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import compare
import numpy as np
import pytest
from shared import refused
from sklearn.metrics import accuracy_score, f1_score, root_mean_squared_error

from modeling_scratch.report.answer_scores import score_answers, summarise
from modeling_scratch.report.predictions import ANSWERS, TAGS, Predictions, as_names
from modeling_scratch.report.quoted_texts import find_misclassified, save_misclassified
from modeling_scratch.report.tag_scores import score_labels, sentence_interval
from modeling_scratch.run.layout import MISCLASSIFIED, PREDICTIONS

CLASSES = ["bad", "middling", "good"]
TEXTS = [f"a film, number {number}" for number in range(60)] + ["twice"] * 2
LABELS = np.random.default_rng(0).integers(3, size=len(TEXTS))


def save_run(folder: Path, seed: int, rows: Sequence[int] = range(len(TEXTS)), **changed: object) -> Path:
    """A run that knows the labels to some extent, evaluated on some rows of the texts."""
    values = {"labels": LABELS, "label_names": CLASSES, "split": "test"} | changed
    size = len(values["label_names"])
    logits = np.random.default_rng(seed).normal(size=(len(TEXTS), size)) + 2 * np.eye(size)[LABELS]
    texts, labels, logits = [TEXTS[row] for row in rows], values["labels"][list(rows)], logits[list(rows)]
    return save(folder, "single_label_classification", values["label_names"], labels, logits.argmax(-1), texts)


def save(folder: Path, kind: str, names: Sequence[str], labels: Any, found: Any, texts: Sequence[str] = TEXTS) -> Path:
    given = (as_names(kind, names, each) if isinstance(each, np.ndarray) else each for each in (labels, found))
    folder.mkdir()
    Predictions.of_lists(kind, "test", "d", names, texts, *given).save(folder)
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [save_run(tmp_path / f"run{seed}", seed) for seed in (1, 2)]


def compared(*arguments: object) -> dict:
    output = Path(str(arguments[0])).parent / "comparison.json"
    compare.main([*map(str, arguments), "--output", str(output), "--overwrite"])
    return json.loads(output.read_text(encoding="utf-8"))


def columns(folder: Path) -> tuple[list[int], list[int]]:
    """Labels and predictions, as any reader of the file finds them."""
    labels, predictions = ([CLASSES.index(line[name]) for line in lines_of(folder)] for name in ("label", "prediction"))
    return labels, predictions


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / PREDICTIONS).read_text().splitlines()[1:]]


def test_macro_f1_decides_between_runs_of_imbalanced_classes(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """One run never gives the rare class, and has the better accuracy. It decides, too, where it decided in a run."""
    labels, random = (np.arange(2_000) % 40 == 0).astype(int), np.random.default_rng(0).random(2_000)
    texts, names, sides = [f"text {row}" for row in range(2_000)], ["common", "rare"], {}
    finds = (random < np.where(labels, 0.7, 0.06)).astype(int)
    for name, answers in (("blind", np.zeros(2_000, int)), ("finds", finds)):
        folder = save(tmp_path / name, "single_label_classification", names, labels, answers, texts)
        sides[folder] = f1_score(labels, answers, average="macro")
    report = compared(*sides)
    [difference] = report["differences"]
    assert difference["scores"]["accuracy"]["interval_95"][1] < 0
    assert (difference["score"], difference["verdict"]) == ("f1_macro", "better")
    assert [run["scores"]["f1_macro"]["value"] for run in report["runs"]] == pytest.approx([*sides.values()])
    assert "the verdict is that of macro F1, the mean over classes" in capsys.readouterr().out
    folders = [save_run(tmp_path / "plain", 1), save_run(tmp_path / "weighted", 2)]
    assert compared(*folders)["differences"][0]["score"] == "accuracy"
    (folders[1] / "evaluation.json").write_text(json.dumps({"comparison": {"score": "f1_macro"}}))
    assert compared(*folders)["differences"][0]["score"] == "f1_macro"


def save_classes(folder: Path, wrong: float) -> Path:
    drawn = np.random.default_rng(int(100 * wrong))
    found = np.where(drawn.random(len(TEXTS)) < wrong, (LABELS + 1) % 3, LABELS)
    return save(folder, "single_label_classification", CLASSES, LABELS, found)


def save_numbers(folder: Path, noise: float) -> Path:
    labels, drawn = (np.random.default_rng(seed).normal(size=len(TEXTS)) for seed in (0, int(100 * noise)))
    return save(folder, "regression", ["stars"], 50 + 10 * labels, 50 + 10 * labels + 5 * noise * drawn)


def save_sets(folder: Path, noise: float) -> Path:
    labels = np.random.default_rng(0).random((len(TEXTS), 3)) < 0.4
    drawn = np.random.default_rng(int(100 * noise)).normal(size=labels.shape)
    return save(folder, "multi_label_classification", CLASSES, labels, labels - 0.5 + 2 * noise * drawn > 0)


def save_tags(folder: Path, wrong: float, names: Sequence[str] = ("O", "B-PER", "I-PER")) -> Path:
    """A run that labels words, some of them wrongly. The data has a label that the run does not know."""
    drawn, noisy = np.random.default_rng(0), np.random.default_rng(int(100 * wrong))
    labels = [[*drawn.choice([*names, "B-ORG"], size=drawn.integers(1, 9))] for _ in TEXTS]
    predicted = [[str(noisy.choice(names)) if noisy.random() < wrong else one for one in row] for row in labels]
    return save(folder, TAGS["O" not in names], names, labels, predicted)


def save_answers(folder: Path, wrong: float) -> Path:
    """A run that answers questions, some of which have two right answers and some none."""
    drawn, noisy = np.random.default_rng(0), np.random.default_rng(int(100 * wrong))
    right = [[["the old dog", "a dog"], ["Porto in 1951"], []][kind] for kind in drawn.integers(3, size=len(TEXTS))]
    found = [[*noisy.choice(["dog", "1951", "cat"], 1)] if noisy.random() < wrong else row[:1] for row in right]
    return save(folder, ANSWERS, [], right, found)


def scores_of_classes(gold: list[str], found: list[str]) -> dict[str, float]:
    return {"accuracy": accuracy_score(gold, found), "f1_macro": f1_score(gold, found, average="macro")}


def scores_of_sets(*sides: list[list[str]]) -> dict[str, float]:
    return {
        "f1_micro": f1_score(*([[name in row for name in CLASSES] for row in side] for side in sides), average="micro")
    }


def scores_of_answers(gold: list[list[str]], found: list[list[str]]) -> dict[str, Any]:
    return summarise(score_answers(gold, ["".join(texts) for texts in found]))


def scores_of_tags(decisive: str, *sides: list[list[str]]) -> dict[str, Any]:
    are_entities = decisive == "f1"
    return {**score_labels(*sides, are_entities), "intervals_95": {decisive: sentence_interval(*sides, are_entities)}}


# How a run is saved, the score that decides, references for the scores of labels and predictions, and what is shown.
KINDS: dict[str, tuple[Any, str, Any, str]] = {
    "classes": (save_classes, "accuracy", scores_of_classes, "| better |"),
    "sets": (save_sets, "f1_micro", scores_of_sets, "micro F1"),
    "numbers": (save_numbers, "rmse", lambda *sides: {"rmse": root_mean_squared_error(*sides)}, "most on the first."),
    "entities": (save_tags, "f1", partial(scores_of_tags, "f1"), "F1 of entities"),
    "words": (
        partial(save_tags, names=("NOUN", "VERB", "X")),
        "accuracy",
        partial(scores_of_tags, "accuracy"),
        "macro F1",
    ),
    "answers": (save_answers, "f1", scores_of_answers, "| the old dog, a dog | 1951 | the old dog |"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_every_kind_are_compared(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    save, decisive, scores_of, shown = KINDS[kind]
    runs = [save(tmp_path / name, wrong) for name, wrong in (("a", 0.6), ("b", 0.1))]
    report, values = compared(*runs), []
    assert shown in capsys.readouterr().out
    for folder, run in zip(runs, report["runs"]):
        assert run["name"] == folder.name, "no path of a user"
        expected = scores_of(*([line[of] for line in lines_of(folder)] for of in ("label", "prediction")))
        found = {name: score["value"] for name, score in run["scores"].items() if name in expected}
        assert found == pytest.approx({name: expected[name] for name in found})
        values.append(found[decisive])
        for name, interval in expected.get("intervals_95", {}).items():
            assert run["scores"][name]["interval_95"] == pytest.approx(interval, abs=0.01)
    (difference,) = report["differences"]
    assert difference["scores"][decisive]["value"] == pytest.approx(values[1] - values[0])
    assert (difference["verdict"], difference["score"]) == ("better", decisive)
    unequal = [a["id"] for a, b in zip(*map(lines_of, runs)) if a["prediction"] != b["prediction"]]
    assert {each["id"] for each in report["disagreements"]} == {*unequal}
    assert compared(runs[1], runs[0])["differences"][0]["verdict"] == "worse"
    [same] = compared(runs[1], runs[1])["differences"]
    assert (same["run"], same["verdict"]) == ("b (2)", "no difference that these 62 texts can show")


def test_the_greatest_disagreements_of_numbers_are_first(tmp_path: Path) -> None:
    numbers = [save_numbers(tmp_path / f"n{noise}", noise) for noise in (0.6, 0.1)]
    apart = {a["id"]: abs(a["prediction"] - b["prediction"]) for a, b in zip(*map(lines_of, numbers))}
    ids = [each["id"] for each in compared(*numbers)["disagreements"]]
    assert ids == sorted(ids, key=lambda each: -apart[each])


def test_texts_are_matched_in_any_order_and_shown_where_the_runs_disagree(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Of two runs that disagree, one is wrong. The rows of the second are in another order."""
    rows = [*np.random.default_rng(5).permutation(60), 60, 61]
    shuffled = save_run(tmp_path / "shuffled", 2, rows)
    expected, found = compared(*runs), compared(runs[0], shuffled)
    assert {**found["differences"][0], "run": "run2"} == expected["differences"][0]
    assert [each["id"] for each in found["disagreements"]] == [each["id"] for each in expected["disagreements"]]
    for folder, order in ((runs[0], range(len(TEXTS))), (shuffled, rows)):
        labels, predicted = columns(folder)
        texts, places = [TEXTS[row] for row in order], [f"test.csv, row {row + 1}" for row in order]
        answers = np.array(labels), np.array(predicted), np.eye(3)[predicted], np.array(labels)
        save_misclassified(find_misclassified(CLASSES, texts, places, *answers), folder)
    disagreements = compared(runs[0], shuffled)["disagreements"]
    assert disagreements
    for each in disagreements:
        row = int(each["id"].partition("-")[0]) - 1
        assert each["text"] == TEXTS[row]
        assert row >= 60 or each["where"] == f"test.csv, row {row + 1}", "of equal texts, either"
    assert "\n| a film, number" in capsys.readouterr().out
    (runs[0] / MISCLASSIFIED).unlink()
    assert {each["text"] is None for each in compared(runs[0], shuffled)["disagreements"]} == {True, False}


def test_runs_that_cannot_be_compared(runs: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    damaged, empty = save_run(tmp_path / "damaged", 1), tmp_path / "empty"
    others = save(tmp_path / "others", "single_label_classification", list("xyz"), LABELS, LABELS)
    numbers, apart = save_numbers(tmp_path / "numbers", 1), save_run(tmp_path / "apart", 1, range(20))
    rest = save_run(tmp_path / "rest", 1, range(20, 60))
    lines = (damaged / PREDICTIONS).read_text().splitlines()
    empty.mkdir()
    unknown = lines[0].replace("single_label", "none")
    for content in (
        [unknown, *lines[1:]],
        (numbers / PREDICTIONS).read_text().splitlines()[:1],
        lines[:-1],
        lines[1:],
        [*lines[:-1], lines[-1].replace("prediction", "p")],
        [*lines[:-1], lines[-1].replace('"label": "', '"label": "no ')],
        [],
    ):
        (damaged / PREDICTIONS).write_text("\n".join(content))
        refused(capfd, compare.main, [runs[0], damaged], str(damaged / PREDICTIONS), "damaged")
    for arguments, *pieces in (
        ([runs[0]], "at least two runs"),
        ([runs[0], tmp_path / "none"], "none: folder not found"),
        (["--output", "o.json", *runs], "runs: required, before all options"),
        ([runs[0], empty], f"empty: a folder without {PREDICTIONS}"),
        ([runs[0], numbers], "differ: single_label_classification and regression"),
        ([runs[0], others], "have no class in common, as runs of one task do: bad, middling, good and x, y, z"),
        ([apart, rest], "apart, rest: the runs have no text in common"),
        ([*runs, "--labels_of", runs[1]], "--labels_of is retired: name the run first whose true labels"),
        ([*runs, "--output", tmp_path / "no" / "out.json"], "not found"),
    ):
        refused(capfd, compare.main, arguments, *pieces)


def test_the_labels_of_the_first_run_count(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Of those that were corrected, and where a run has the classes in another order, or lacks one."""
    corrected = save_run(
        tmp_path / "corrected", 2, labels=np.where(np.arange(len(TEXTS)) < 7, (LABELS + 1) % 3, LABELS)
    )
    for sides in ((runs[0], corrected), (corrected, runs[0])):
        report, true = compared(*sides), columns(sides[0])[0]
        expected = [accuracy_score(true, columns(folder)[1]) for folder in sides]
        assert [run["scores"]["accuracy"]["value"] for run in report["runs"]] == pytest.approx(expected)
        ids = report["relabelled"][sides[1].name]
        assert [int(each.partition("-")[0]) for each in ids] == [*range(1, 8)]
        assert f"7 texts; those of {sides[0].name} count" in capsys.readouterr().out
    true, answers = columns(runs[1])
    for name, names in (("turned", ["good", "bad", "middling"]), ("dropped", ["good", "bad"])):
        rows = [row for row in range(len(TEXTS)) if CLASSES[true[row]] in names]
        labels = [CLASSES[true[row]] for row in rows]
        found = [CLASSES[answers[row]] if CLASSES[answers[row]] in names else names[0] for row in rows]
        save(tmp_path / name, "single_label_classification", names, labels, found, [TEXTS[row] for row in rows])
    turned, expected = (compared(runs[0], each)["runs"][1]["scores"] for each in (tmp_path / "turned", runs[1]))
    for name, score in expected.items():
        assert turned[name]["value"] == pytest.approx(score["value"])
    report = compared(runs[0], tmp_path / "dropped")
    kept = [row for row in range(len(TEXTS)) if true[row] != 1]
    assert (report["texts"], report["relabelled"]) == (len(kept), {})
    expected = accuracy_score([true[row] for row in kept], [columns(runs[0])[1][row] for row in kept])
    assert report["runs"][0]["scores"]["accuracy"]["value"] == pytest.approx(expected)
