# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Each check accepts its lesson's solution, and names the mistake of typical wrong ones."""

import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import wrong_1
import wrong_2
import wrong_3
import wrong_4
import wrong_5
import wrong_6

from modeling_scratch import course
from modeling_scratch.course.building import read_lesson, sources
from modeling_scratch.course.checking import CHECKS

WRONG = [row for table in (wrong_1, wrong_2, wrong_3, wrong_4, wrong_5, wrong_6) for row in table.WRONG]


@pytest.mark.parametrize(
    ("name", "answer", "hint"), WRONG, ids=[f"{row[0]}-{number}" for number, row in enumerate(WRONG)]
)
def test_a_mistake_is_named(name: str, answer: Any, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    course.check(name, answer)
    printed = capsys.readouterr().out
    assert printed.startswith(f"{name} is not right yet: ")
    assert hint in printed


PATHS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if number == 6 else [])  # which trains two classifiers
    for number, path in sources().items()
]


def test_a_wrong_name_is_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    course.check("atention", None)
    assert capsys.readouterr().out == "atention: no such exercise; did you mean attention?\n"


def test_each_check_is_tried_on_three_mistakes() -> None:
    tried = Counter(name for name, _, _ in WRONG)
    assert tried.keys() == CHECKS.keys()
    assert min(tried.values()) >= 3


@pytest.mark.parametrize("path", PATHS)
def test_a_lesson_runs_and_its_solutions_are_right(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("NOTEBOOK_STEPS", "2")
    runpy.run_path(str(path))
    exercises = [cell.role.partition(" ")[2] for cell in read_lesson(path) if cell.role.startswith("exercise")]
    printed = capsys.readouterr().out
    assert [name for name in exercises if f"{name} is right. " not in printed] == []
    assert "is not right yet" not in printed


@pytest.mark.slow
def test_trainings_show_what_the_lessons_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.delenv("NOTEBOOK_STEPS", raising=False)
    block, training, own_data = (runpy.run_path(str(sources()[number])) for number in (4, 5, 6))
    assert block["accuracies"][0] > 0.9
    assert block["accuracies"][1] < 0.3
    held_out = training["held_out"]
    assert training["loss_and_accuracy"](training["model"], held_out)[1] > 0.95
    loss, accuracy = training["loss_and_accuracy"](training["memoriser"], held_out)
    assert loss > training["math"].log(10)
    assert accuracy < 0.7
    for report in own_data["report"], own_data["tuned"]:
        assert report.scores["accuracy"] > 0.8 > 0.7 > max(row["accuracy"] for row in report.scores["baselines"])
