# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The pictures are drawn whatever was logged, are real PNG files, and are written whole or not at all."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from modeling_scratch.report.plots import confusion_matrix_png, losses_and_score_png
from modeling_scratch.utils.errors import DataError

ACCURACY = "loss (nats per example)", "eval_accuracy", "accuracy (% of examples)"
NAN, INFINITY = float("nan"), float("inf")
RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("default", ResourceWarning)  # of files of other tests, closed at any moment
        yield


def run_log(steps: int) -> list[dict[str, float]]:
    log: list[dict[str, float]] = []
    for step in range(10, steps + 1, 10):
        log.append({"loss": 1 / step, "learning_rate": 1e-4, "epoch": step / 40, "step": step})
        if step % 50 == 0:
            log.append({"eval_loss": 2 / step, "eval_accuracy": 1 - 1 / step, "epoch": step / 40, "step": step})
    return log


# A function, and what it draws.
PICTURES = {
    "two classes": (confusion_matrix_png, RANDOM.integers(0, 20_000, size=(2, 2)), ["no", "yes"]),
    "any text": (
        confusion_matrix_png,
        np.eye(3, dtype=int),
        ["$5 \\frac{", "far longer than any axis is wide, " * 9, ""],
    ),
    "no examples": (confusion_matrix_png, np.zeros((2, 2), dtype=int), ["no", "yes"]),
    "a class that is only predicted": (confusion_matrix_png, np.array([[3, 1], [0, 0]]), ["no", "yes"]),
    "a run": (losses_and_score_png, run_log(300)),
    "not finite": (losses_and_score_png, [{"loss": NAN, "eval_loss": INFINITY, "eval_accuracy": NAN, "step": 1}]),
    "nothing": (losses_and_score_png, []),
}


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_drawn_whatever_is_in_it(picture: str, tmp_path: Path) -> None:
    draw, *given = PICTURES[picture]
    draw(*given, tmp_path / "picture.png", *(ACCURACY if draw is losses_and_score_png else ()))
    with Image.open(tmp_path / "picture.png") as image:
        image.load()  # decodes every pixel
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(maxcolors=10**6)) > 20, "nothing is drawn"
        assert all(300 <= side < 3_000 for side in image.size)


def test_a_picture_replaces_an_older_one_whole(tmp_path: Path) -> None:
    """The evaluation of the best model at the end, a second one of its step, is no point of the curve."""
    path, log = tmp_path / "curve.png", run_log(100)
    path.write_text("an older picture")
    losses_and_score_png(log, str(path), *ACCURACY)
    first = path.read_bytes()
    assert first.startswith(b"\x89PNG")
    losses_and_score_png([*log, {**log[-1], "eval_accuracy": 0.1}], path, *ACCURACY)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (first, [path])
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(DataError, match=r"curve\.png: not a regular file"):
        losses_and_score_png([], path, *ACCURACY)
    assert list(tmp_path.iterdir()) == [path], "nothing is left behind"
