# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Questions of every format are the same questions, and what is wrong with one is said with its place."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from text_samples import fault
from toy_questions import paragraphs, write_squad

from modeling_scratch.data.questions import Question, QuestionDataArguments, load_questions

CONTEXT = "The tower was built by Gustave Eiffel. Eiffel was an engineer."
ENTRY = {"id": "q7", "question": "Who built it?", "answers": [{"text": "Gustave Eiffel", "answer_start": 23}]}


def rows(number: int, seed: int) -> list[dict[str, Any]]:
    """As data sets on the Hub have them: the lists of text and answer_start."""
    found = []
    for paragraph in paragraphs(number, seed):
        for entry in paragraph["qas"]:
            lists = {name: [answer[name] for answer in entry["answers"]] for name in ("text", "answer_start")}
            texts = {"id": entry["id"], "question": entry["question"], "context": paragraph["context"]}
            found.append({**texts, "answers": lists})
    return found


def write(path: Path, number: int = 12, seed: int = 0) -> Path:
    """Write questions in the format that the name says: that of SQuAD, or a question a row."""
    table = rows(number, seed)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(table), path)
    elif path.suffix == ".csv":
        floats = [{**row["answers"], "answer_start": list(map(float, row["answers"]["answer_start"]))} for row in table]
        cells = map(str, floats) if path.stem == "python" else (json.dumps(row["answers"]) for row in table)
        pd.DataFrame([{**row, "answers": cell} for row, cell in zip(table, cells)]).to_csv(path, index=False)
    elif path.stem in ("list", "field"):
        path.write_text(json.dumps(table if path.stem == "list" else {"data": table}, indent=2))
    elif path.suffix == ".jsonl" or path.stem == "lines":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table))
    else:
        write_squad(path, number, seed)
    return path


def told(question: Question) -> tuple:
    return question.id, question.question, question.context, question.answers


def load(path: Path, **options: Any) -> Any:
    return load_questions(QuestionDataArguments(train_file=str(path), **options))


NAMES = ["train.jsonl", "lines.json", "list.json", "field.json", "train.parquet", "train.csv", "python.csv"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_questions(tmp_path: Path, name: str) -> None:
    expected, data = load(write(tmp_path / "squad.json")), load(write(tmp_path / name))
    for split, questions in expected.splits.items():
        assert list(map(told, questions)) == list(map(told, data.splits[split]))
    assert data.digests() == expected.digests()
    assert data.has_unanswerable


def test_a_folder_of_splits_is_read_and_missing_splits_share_no_context_with_train(tmp_path: Path) -> None:
    for seed, split in enumerate(("train", "test")):
        write(tmp_path / f"{split}.json", 12, seed)
    data = load_questions(QuestionDataArguments(data_dir=str(tmp_path)))
    assert [told(one)[0] for one in data.splits["test"]] == [row["id"] for row in rows(12, 1)]
    contexts = {split: {one.context for one in questions} for split, questions in data.splits.items()}
    assert not contexts["train"] & contexts["validation"]
    assert len(contexts["train"] | contexts["validation"]) == 12
    assert any("held out of train" in note for note in data.notes)
    for question in (one for questions in data.splits.values() for one in questions):
        for answer in question.answers:
            assert question.context[answer.start : answer.end] == answer.text


def test_contexts_in_two_splits_and_questions_that_train_cannot_teach_are_told(tmp_path: Path) -> None:
    table = [row for row in rows(12, 0) if row["answers"]["text"]]
    train, test = tmp_path / "train.jsonl", write(tmp_path / "test.jsonl")
    train.write_text("".join(f"{json.dumps(row)}\n" for row in table), encoding="utf-8")
    notes = " ".join(load(train, test_file=str(test)).notes)
    assert "11 of its 12 contexts also occur in train, inflating scores" in notes  # one is held out
    assert "questions have no answer and count as errors" in notes


def nested(**changes: Any) -> dict[str, Any]:
    entry = {name: value for name, value in {**ENTRY, **changes}.items() if value is not None}
    return {"data": [{"paragraphs": [{"context": CONTEXT, "qas": [entry]}]}]}


def answer(text: Any, start: Any) -> dict[str, Any]:
    return nested(answers=[{"text": text, "answer_start": start}])


PARAGRAPH = "squad.json, row 1, paragraphs[0]"
PLACE = f"{PARAGRAPH}.qas[0]"
FAULTS = [
    (answer("Eiffel", 30), f"{PLACE} (id q7), answers[0]: 'Eiffel' is not at answer_start 30, but at 31"),
    (answer("Eiffel", -3), "is not at answer_start -3, but at 31; correct it, or give --fix_offsets"),
    (answer("Paris", 3), "'Paris' does not occur in the context"),
    (answer("", 3), "'' is empty or not text"),
    (answer("Eiffel", "31"), "answer_start '31' is not an integer"),
    (nested(answers=[{"text": "Eiffel"}]), "no column 'answer_start'"),
    (nested(answers=None), f"{PLACE} (id q7): no column 'answers'"),
    (nested(answers={"text": ["a"], "answer_start": []}), "lists text and answer_start, of equal length"),
    (nested(answers="["), "answers: invalid JSON"),
    (nested(is_impossible=True), f"{PLACE} (id q7): has answers, and is_impossible"),
    (nested(answers=3), "int, but expected a list of objects"),
    (nested(question=" "), f"{PLACE}, question: ' ' is empty or not text"),
    ({"data": [{"paragraphs": [{"qas": [ENTRY]}]}]}, f"{PARAGRAPH}: no column 'context'"),
    ({"data": [{"paragraphs": 3}]}, "squad.json, row 1, paragraphs: int, but expected a list"),
    ({"data": []}, "squad.json: the file has no rows"),
    ([{"question": "who?", "answers": []}], "squad.json, row 1: no column 'context'"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_told_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with fault(message):
        load(path)


def test_an_answer_moves_to_its_nearest_occurrence(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    table = rows(12, 0)
    for row in table:
        row["context"] += f" {row['context']}"  # each answer occurs at least twice
        row["answers"]["answer_start"] = [start + 2 for start in row["answers"]["answer_start"]]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in table), encoding="utf-8")
    with fault("train.jsonl, row 1", "45 other questions in train cannot be read"):
        load(path)
    expected = {row["id"]: [start - 2 for start in row["answers"]["answer_start"]] for row in table}
    data = load(path, fix_offsets=True)
    questions = [question for split in data.splits.values() for question in split]
    assert {one.id: [answer.start for answer in one.answers] for one in questions} == expected
    assert any("answers moved to their nearest occurrence" in note for note in data.notes)
