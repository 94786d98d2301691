# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Each check accepts its lesson's solution, and names every mistake that it knows, and those of students' code."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import binomtest

from modeling_scratch import course
from modeling_scratch.course import CHECKS
from modeling_scratch.course.building import read_lesson, sources

OF_BERT: dict[str, Any] = {
    "norm_position": "post", "position_type": "learned", "hidden_act": "gelu", "embedding_norm": True,
    "type_vocab_size": 2,
}  # fmt: skip


def unfinished(ids: Any, table: Any) -> Any:
    one_hot = ...
    return one_hot.float() @ table  # type: ignore[attr-defined]


def masks_by_id(texts: Any, pad_id: int) -> Any:
    length = max(map(len, texts))
    ids = torch.tensor([text + [pad_id] * (length - len(text)) for text in texts])
    return ids, (ids != pad_id).long()


def too_small_a_number(q: Any, k: Any, v: Any, visible: Any) -> Any:
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~visible, -1.0).softmax(-1) @ v


def uncorrected(weight: Any, gradient: Any, mean: Any, square: Any, step: int, rate: float, decay: float) -> Any:
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    return weight - rate * decay * weight - rate * mean / (square.sqrt() + 1e-8), mean, square


# Exercise, answer, a part of the hint: as students write them, and what no table of mistakes has.
WRONG: list[tuple[str, Any, str]] = [
    ("ids_of", lambda text, v: [v[word] for word in text.lower().split()], "raises KeyError: 'fizzles'"),
    ("ids_of", lambda text, v: [v.get(word, v["[UNK]"]) for word in text.lower().split(" ")], "'the FILM  fizzles'"),
    ("padded", masks_by_id, "from lengths"),
    ("padded", lambda texts, pad_id: torch.tensor(texts), "raises ValueError"),
    ("embedded", unfinished, "replace it with your code"),
    ("by_hand", ..., "is still there"),
    ("softmax", lambda scores: torch.softmax(scores, 1), "the rows do not sum to 1"),
    ("scores", lambda q, k: q @ k / 2, "raises RuntimeError"),
    ("attention", lambda q, k, v: (q @ k.mT @ v, None), "a tuple"),
    ("self_attention", lambda x, q, k, v: ((x @ q.T) @ (x @ k.T).mT).softmax(-1) @ (x @ v.T), "q of shape (12, 4)"),
    ("split_heads", lambda x, heads: x.view(*x.shape[:2], -1, heads).permute(0, 3, 1, 2), "every H-th feature"),
    ("masked_attention", too_small_a_number, "the future leaks: position 0 changed when token 5 did"),
    ("adamw_step", uncorrected, "not corrected"),
    ("bert_switches", {**OF_BERT, "norm_position": "pre"}, "after the sum"),
    ("bert_switches", {**OF_BERT, "hidden_act": "relu"}, "GELU"),
    ("bert_switches", {name: value for name, value in OF_BERT.items() if value != 2}, "type_vocab_size is missing"),
    ("parity", lambda ours, theirs, mask: ((ours - theirs) * mask[..., None]).max(), "take abs()"),
    ("parity", lambda ours, theirs, mask: (ours - theirs)[mask.bool()].norm(), "is 0.500302, expected 0.500275"),
    ("p_value", lambda a, b: binomtest(sum(a) - sum(map(min, a, b)), len(a)).pvalue, "the number of tosses"),
]


def hint(name: str, answer: Any, capsys: pytest.CaptureFixture[str]) -> str:
    course.check(name, answer)
    said, _, told = capsys.readouterr().out.strip().partition(" is not right yet: ")
    assert said == name
    return told


@pytest.mark.parametrize(
    ("name", "answer", "told"), WRONG, ids=[f"{row[0]}-{number}" for number, row in enumerate(WRONG)]
)
def test_a_mistake_of_a_student_is_named(name: str, answer: Any, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in hint(name, answer, capsys)


@pytest.mark.parametrize("name", CHECKS)
def test_each_mistake_has_a_hint_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers that make one mistake are told from those that make another. Each check was tried on at least three."""
    mistakes = CHECKS[name].mistakes
    assert [hint(name, wrong, capsys) for wrong in mistakes.values()] == [*mistakes]
    assert len(mistakes) + sum(row[0] == name for row in WRONG) >= 3


def test_a_wrong_name_is_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    course.check("atention", None)
    assert capsys.readouterr().out == "atention: no such exercise; did you mean attention?\n"


PATHS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if number == 6 else [])  # which trains two classifiers
    for number, path in sources().items()
]


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
        assert (
            report.scores["accuracy"]
            > 0.8
            > 0.7
            > max(row["scores"]["accuracy"]["value"] for row in report.scores["baselines"])
        )
