# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The pictures are drawn whatever was logged, are real PNG files, and are written whole or not at all."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from modeling_scratch.report.plots import (
    class_f1_png,
    confusion_matrix_png,
    learning_curve_png,
    predicted_against_true_png,
    token_curve_png,
)
from modeling_scratch.utils.errors import DataError

NAN, INFINITY = float("nan"), float("inf")
RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("default", ResourceWarning)  # of files of other tests, closed at any moment
        yield


def check_png(path: Path, width: range, height: range) -> None:
    with Image.open(path) as image:
        image.load()  # decodes every pixel
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(maxcolors=10**6)) > 20, "nothing is drawn"
        assert image.width in width
        assert image.height in height


def run_log(steps: int) -> list[dict[str, float]]:
    log: list[dict[str, float]] = []
    for step in range(10, steps + 1, 10):
        log.append({"loss": 1 / step, "learning_rate": 1e-4, "epoch": step / 40, "step": step})
        if step % 50 == 0:
            log.append({"eval_loss": 2 / step, "eval_accuracy": 1 - 1 / step, "epoch": step / 40, "step": step})
    return log


MATRICES = {
    "two": (RANDOM.integers(0, 20_000, size=(2, 2)), ["no", "yes"]),
    "any text": (np.eye(3, dtype=int), ["$5 \\frac{", "far longer than any axis of a picture is wide, " * 4, ""]),
    "no examples": (np.zeros((2, 2), dtype=int), ["no", "yes"]),
    "a class that is only predicted": (np.array([[3, 1], [0, 0]]), ["no", "yes"]),
}


@pytest.mark.parametrize(("matrix", "labels"), MATRICES.values(), ids=MATRICES)
def test_confusion_matrices_of_any_labels(matrix, labels, tmp_path):
    confusion_matrix_png(matrix, labels, tmp_path / "confusion.png")
    check_png(tmp_path / "confusion.png", range(300, 3_000), range(300, 3_000))
    with pytest.raises(ValueError, match=f"{len(labels) + 1} label names"):
        confusion_matrix_png(matrix, [*labels, "another"], tmp_path / "other.png")
    assert not (tmp_path / "other.png").exists()


def test_classes_that_neither_texts_nor_answers_have_take_no_room(tmp_path):
    matrix = np.zeros((20, 20), dtype=int)
    matrix[:2, :2] = [[5, 1], [2, 7]]
    names = [f"class {number}" for number in range(20)]
    for path, size in ((tmp_path / "few.png", 2), (tmp_path / "all.png", 20)):
        confusion_matrix_png(matrix[:size, :size], names[:size], path)
    with Image.open(tmp_path / "few.png") as few, Image.open(tmp_path / "all.png") as all_of_them:
        assert all_of_them.height == few.height


@pytest.mark.parametrize(
    "log",
    [
        run_log(300),
        [{"loss": 0.7, "step": 1}],  # no epoch
        [{"loss": NAN, "eval_loss": INFINITY, "eval_accuracy": NAN, "epoch": 1.0, "step": 1}],
        [],
    ],
    ids=["run", "no epoch", "not finite", "nothing"],
)
def test_learning_curves_of_whatever_was_logged(log, tmp_path):
    learning_curve_png(log, tmp_path / "curve.png")
    check_png(tmp_path / "curve.png", range(1_000, 1_400), range(800, 1_300))


def test_the_evaluation_of_the_best_model_at_the_end_is_no_point_of_the_curve(tmp_path):
    log = run_log(100)
    for name, more in (("0.png", []), ("1.png", [{**log[-1], "eval_accuracy": 0.1}])):
        learning_curve_png([*log, *more], tmp_path / name)
    assert (tmp_path / "0.png").read_bytes() == (tmp_path / "1.png").read_bytes()


def test_a_picture_replaces_an_older_one_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "curve.png"
    path.write_text("an older picture")
    learning_curve_png([], str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(DataError, match=r"curve\.png: not a regular file"):
        learning_curve_png([], path)
    assert list(tmp_path.iterdir()) == [path], "nothing is left behind"


@pytest.mark.parametrize("log", [run_log(200), [{"loss": NAN, "step": 1}]], ids=["run", "nothing"])
def test_losses_per_token_are_drawn_alone_with_their_perplexities(log, tmp_path):
    token_curve_png(log, tmp_path / "curve.png")
    check_png(tmp_path / "curve.png", range(800, 1_600), range(400, 800))


@pytest.mark.parametrize("classes", [1, 60])
def test_bars_of_classes(tmp_path: Path, classes: int) -> None:
    rows = [{"label": f"$class {at} " * 4, "f1": at / classes, "support": at} for at in range(classes)]
    class_f1_png(rows, tmp_path / "f1.png")
    check_png(tmp_path / "f1.png", range(700, 1_400), range(300, 4_000))


@pytest.mark.parametrize("rows", [1, 500])
def test_predicted_numbers_against_true_ones(tmp_path: Path, rows: int) -> None:
    predicted_against_true_png(RANDOM.normal(size=rows), np.zeros(rows), "$stars$", tmp_path / "numbers.png")
    check_png(tmp_path / "numbers.png", range(700, 1_100), range(700, 1_100))
