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
    assert printed.startswith(f"{name}: not yet. ")
    assert hint in printed


def test_each_check_is_tried_on_three_mistakes() -> None:
    tried = Counter(name for name, _, _ in WRONG)
    assert tried.keys() == CHECKS.keys()
    assert min(tried.values()) >= 3


@pytest.mark.parametrize("path", sources().values(), ids=lambda path: path.stem)
def test_a_lesson_runs_and_its_solutions_are_right(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("NOTEBOOK_STEPS", "2")
    runpy.run_path(str(path))
    exercises = [cell.role.partition(" ")[2] for cell in read_lesson(path) if cell.role.startswith("exercise")]
    printed = capsys.readouterr().out
    assert [name for name in exercises if f"{name}: right. " not in printed] == []
    assert "not yet" not in printed
