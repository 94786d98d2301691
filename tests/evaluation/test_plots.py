# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The pictures are drawn whatever was logged, are real PNG files, and are written whole or not at all."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from modeling_scratch.evaluation.plots import confusion_matrix_png, learning_curve_png, token_curve_png

SCRIPTS = Path(__file__).parents[2] / "scripts"
NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def size_of_png(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        image.load()  # decodes every pixel
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(maxcolors=10**6)) > 20, "nothing is drawn"
        return image.size


def run_log(steps: int) -> list[dict[str, float]]:
    log: list[dict[str, float]] = []
    for step in range(10, steps + 1, 10):
        log.append({"loss": 1 / step, "learning_rate": 1e-4, "epoch": step / 40, "step": step})
        if step % 50 == 0:
            log.append({"eval_loss": 2 / step, "eval_accuracy": 1 - 1 / step, "epoch": step / 40, "step": step})
    return log


@pytest.mark.parametrize("num_labels", [2, 12, 40])
def test_confusion_matrices_of_few_and_many_labels(num_labels, tmp_path):
    matrix = np.random.default_rng(0).integers(0, 20_000, size=(num_labels, num_labels))
    matrix[0] = 0  # a class that never occurs
    confusion_matrix_png(matrix, [f"label {index}" for index in range(num_labels)], tmp_path / "confusion.png")
    width, height = size_of_png(tmp_path / "confusion.png")
    assert 500 < height < 3_000
    assert 500 < width < 3_000


def test_labels_may_have_any_text(tmp_path):
    labels = ["$5 \\frac{", "a name that is far longer than any axis of a picture is wide, " * 3, ""]
    confusion_matrix_png(np.eye(3, dtype=int), labels, tmp_path / "confusion.png")
    width, _ = size_of_png(tmp_path / "confusion.png")
    assert width < 1_500


def test_a_matrix_of_no_examples_is_drawn(tmp_path):
    confusion_matrix_png(np.zeros((2, 2), dtype=int), ["no", "yes"], tmp_path / "confusion.png")
    size_of_png(tmp_path / "confusion.png")


def test_label_names_must_fit_the_matrix(tmp_path):
    with pytest.raises(ValueError, match=r"3 label names .* \(2, 2\)"):
        confusion_matrix_png(np.eye(2, dtype=int), ["a", "b", "c"], tmp_path / "confusion.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "log",
    [
        run_log(300),
        run_log(50)[-2:],
        run_log(40),  # no evaluation
        [{"loss": 0.7, "step": 1}],  # no epoch
        [{"eval_loss": 0.7, "eval_accuracy": 0.5, "epoch": 0, "step": 0}],  # evaluated before the first step
        [{"loss": 0.7, "epoch": 1.0, "step": 1}, {"loss": NAN, "epoch": 2.0, "step": 2}],
        [{"loss": NAN, "eval_loss": INFINITY, "eval_accuracy": NAN, "epoch": 1.0, "step": 1}],
        [{"train_runtime": 1.0, "train_loss": 0.3, "epoch": 1.0, "step": 5}],
        [],
    ],
)
def test_learning_curves_of_whatever_was_logged(log, tmp_path):
    learning_curve_png(log, tmp_path / "curve.png")
    width, height = size_of_png(tmp_path / "curve.png")
    assert 1_000 < width < 1_400
    assert 800 < height < 1_300


def test_what_is_not_finite_is_a_gap(tmp_path):
    for name, value in (("nan.png", NAN), ("infinity.png", INFINITY)):
        learning_curve_png([*run_log(100), {"loss": value, "epoch": 2.6, "step": 105}], tmp_path / name)
    assert (tmp_path / "nan.png").read_bytes() == (tmp_path / "infinity.png").read_bytes()


def test_evaluating_the_best_model_after_the_last_step_is_no_point_of_the_curve(tmp_path):
    log = run_log(100)
    learning_curve_png(log, tmp_path / "run.png")
    learning_curve_png([*log, {**log[-1], "eval_accuracy": 0.1}], tmp_path / "evaluated again.png")
    assert (tmp_path / "run.png").read_bytes() == (tmp_path / "evaluated again.png").read_bytes()


def test_a_picture_replaces_an_older_one_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "curve.png"
    path.write_text("an older picture")
    learning_curve_png(run_log(100), str(path))
    size_of_png(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path):
    path = tmp_path / "curve.png"
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match=r"curve\.png"):
        learning_curve_png(run_log(100), path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_matplotlib_is_imported_by_drawing_and_pyplot_never(tmp_path):
    code = """
import sys
import modeling_scratch.evaluation.plots as plots
assert "matplotlib" not in sys.modules
plots.learning_curve_png([], sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
"""
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS), "MPLBACKEND": "tkagg"}  # a display nobody has
    environment.pop("DISPLAY", None)
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "curve.png")], env=environment, check=True, timeout=60)
    size_of_png(tmp_path / "curve.png")


def test_losses_per_token_are_drawn_alone_with_their_perplexities(tmp_path):
    token_curve_png(run_log(200), tmp_path / "curve.png")
    width, height = size_of_png(tmp_path / "curve.png")
    assert width > height > 400
    token_curve_png([{"loss": NAN, "step": 1}], tmp_path / "nothing.png")
    assert size_of_png(tmp_path / "nothing.png")
