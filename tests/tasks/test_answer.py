# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Question answering end to end on the example of the documentation: training, file, pipeline and server agree."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy
import predict
import pytest
import train_answers
from processes import refusal
from serving import served
from text_samples import predicted, write
from transformers import pipeline

from modeling_scratch.data.questions import Answer, Question, QuestionData, QuestionDataArguments, load_questions
from modeling_scratch.report.answer_scores import score_answers
from modeling_scratch.run.layout import PREDICTIONS
from modeling_scratch.serving.answerers import load_answerer
from modeling_scratch.tasks.answer import evaluate_answers
from modeling_scratch.tasks.card import first_line

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "questions.json"
SIZES = "hidden_size=32,num_hidden_layers=2,num_attention_heads=4,intermediate_size=64,hidden_dropout=0.0"
COMMON = "--report_to none --use_cpu --disable_tqdm True"
FAST = (
    f"{COMMON} --config_overrides {SIZES} --tokenizer_kind wordlevel --min_frequency 1 --learning_rate 1e-2 "
    "--per_device_train_batch_size 8 --eval_delay 8 --num_train_epochs 10 --train_sampling_strategy group_by_length"
)
SETTINGS = {"max_answer_len": 30, "handle_impossible_answer": True}


def train(output: Path, options: str = FAST, source: str = f"--train_file {EXAMPLE}") -> None:
    train_answers.main(f"{source} --output_dir {output} {options}".split())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, for all tests that only look at it."""
    output = tmp_path_factory.mktemp("answers") / "run"
    train(output)
    return output


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return load_questions(QuestionDataArguments(train_file=str(EXAMPLE))).splits["test"]


@pytest.fixture(scope="module")
def answers(run: Path, questions: list[Question]) -> list[dict[str, Any]]:
    """Those of the pipeline, one question after the other."""
    task: Any = "extractive-question-answering"
    pipe: Any = pipeline(task, model=str(run), **SETTINGS)
    return [pipe(question=one.question, context=one.context) for one in questions]


def test_learns_and_reports_its_scores(run: Path) -> None:
    evaluation = json.loads((run / "evaluation.json").read_text())
    baselines = {baseline["name"]: baseline["f1"] for baseline in evaluation["baselines"]}
    assert evaluation["f1"] > 2 * baselines["word overlap"]
    assert evaluation["kinds"]["with"]["f1"] > 0, "its answers are not all empty"
    assert (evaluation["comparison"]["verdict"] == "better") <= (evaluation["f1"] > max(baselines.values()))
    assert "without an answer" in (run / "results.md").read_text()
    card = (run / "README.md").read_text()
    assert all(told in card for told in ("handle_impossible_answer=True", "max_answer_len=30", '"context": '))


def test_the_pipeline_gives_the_answers_that_were_scored(
    run: Path, questions: list[Question], answers: list[dict[str, Any]]
) -> None:
    evaluation = json.loads((run / "evaluation.json").read_text())
    exact, f1 = score_answers([one.right for one in questions], [answer["answer"] for answer in answers]).mean(0)
    assert (evaluation["exact_match"], evaluation["f1"]) == pytest.approx((exact, f1))
    examples = [json.loads(line) for line in (run / "examples.jsonl").read_text().splitlines()]
    assert [row["answer"] for row in examples] == [answer["answer"] for answer in answers[:5]]
    _, *kept = map(json.loads, (run / PREDICTIONS).read_text().splitlines())
    assert [line["label"] for line in kept] == [[each.text for each in one.answers] for one in questions]
    assert ["".join(line["prediction"]) for line in kept] == [answer["answer"] for answer in answers]


def test_the_server_gives_the_answers_of_the_pipeline(run: Path, questions: Any, answers: Any) -> None:
    inputs = [{"question": one.question, "context": one.context} for one in questions]
    long = {"question": "who " * 70, "context": "Anna ran. " * 40}
    empty = {"question": "who?", "context": " "}
    with served(load_answerer(str(run)), max_texts=40) as client:

        def ask(inputs: Any, status: int = 200, **options: Any) -> Any:
            response = client.post("/answer", json={"inputs": inputs, **options})
            assert response.status_code == status
            return response.json()

        together = ask(inputs)
        assert together["truncated"] == [False] * len(inputs)
        for found, expected in zip(together["outputs"], answers):
            assert found == {**expected, "score": pytest.approx(expected["score"], abs=1e-5)}
        assert ask(inputs[0])["outputs"]["answer"] == answers[0]["answer"]
        best = ask(inputs[0], top_k=3)["outputs"]
        assert (len(best), best[0]["answer"]) == (3, answers[0]["answer"])
        assert ask(long)["truncated"] is True
        assert ask(empty)["outputs"] == dict.fromkeys(("answer", "score", "start", "end"))
        for wrong, told in (
            ("who?", "inputs: must be an object with question and context"),
            ({"question": "who?"}, "inputs, context: Field required"),
            ([{"question": "who?", "context": 3}], "inputs, text 1, context: Input should be a valid string"),
        ):
            assert told in ask(wrong, 422)["error"]


def test_predict_answers_files_and_standard_input(
    run: Path, questions: Any, answers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    found = predicted(run, EXAMPLE, tmp_path / "all.jsonl", "--top_k", "2")
    rows = {row["id"]: row for row in found}
    for question, expected in zip(questions, answers):
        row = rows[question.id]
        expected = {**expected, "score": pytest.approx(expected["score"], abs=1e-5)}
        assert {name: row[name] for name in expected} == expected
        assert len(row["top"]) == 2
        assert str(row["score"]) == str(numpy.float32(row["score"]))  # no further digits
    pairs = [one.pair.parts for one in questions]
    table = write(tmp_path / "asked.csv", dict(zip(("question", "context", "n"), zip(*((*pair, 7) for pair in pairs)))))
    found = predicted(run, table, tmp_path / "out.csv", "--keep_columns", "n", "--with_text")
    assert [(row["answer"], row["n"]) for row in found] == [(answer["answer"], "7") for answer in answers]
    lines = [json.dumps(dict(zip(("question", "context"), pair))) for pair in pairs[:2]]
    (tmp_path / "asked.jsonl").write_text("\n\n" + "\n".join(lines))
    assert [row["row"] for row in predicted(run, tmp_path / "asked.jsonl", tmp_path / "rows.jsonl")] == [3, 4]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{lines[0]}\n".encode())))
    capfd.readouterr()
    predict.main(["--model", str(run)])
    assert json.loads(capfd.readouterr().out)["answer"] == answers[0]["answer"]


def test_questions_in_another_encoding_and_in_long_windows(run: Path, tmp_path: Path) -> None:
    context = "Zoë lives in Porto . " * 100
    asked = json.dumps({"question": "Where does Zoë live ?", "context": context}, ensure_ascii=False)
    (tmp_path / "asked.json").write_bytes(asked.encode("cp1252"))
    options = "--encoding", "cp1252", "--max_length", "450", "--with_text"
    (answer,) = predicted(run, tmp_path / "asked.json", tmp_path / "out.jsonl", *options)
    task: Any = "extractive-question-answering"
    expected = pipeline(task, model=str(run), **SETTINGS)(question=answer["question"], context=context, max_seq_len=450)  # type: ignore[call-overload]
    assert (answer["context"], answer["start"]) == (context, expected["start"])
    assert answer["score"] == pytest.approx(expected["score"], abs=1e-5)


def test_an_empty_or_long_question_costs_its_own_answer_alone(run: Path, tmp_path: Path, capfd: Any) -> None:
    context = "Karl Vila moved to Bergen ."
    asked = [("Who moved ?", context), ("", context), ("who " * 60, context), ("Who ?", None), ("Zork ?", context)]
    table = tmp_path / "asked.jsonl"
    table.write_text("".join(json.dumps(dict(zip(("question", "context"), each))) + "\n" for each in asked))
    rows = predicted(run, table, tmp_path / "out.jsonl", "--max_length", "40")
    assert [row["row"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["answer"] is None for row in rows] == [False, True, True, True, False]
    assert rows[4]["unknown_words"] == ["Zork"]
    told = capfd.readouterr().err
    assert "rows without a question or a context, which get no answer: 2" in told
    assert "no room for their contexts (--max_length), which get no answer: 1" in told
    assert "words that the model has not seen (Zork): 1" in told


def test_what_predict_cannot_do_is_said(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table = tmp_path / "asked.jsonl"
    table.write_text('{"question": "who?", "context": "Anna."}\n{"question": "who?", "context": 5}\n')
    told = refusal(capsys, predict.main, f"--model {run} --input {table} --output {tmp_path}/o.jsonl".split())
    assert "asked.jsonl, row 2, context: '5' is empty or not text" in told
    assert not (tmp_path / "o.jsonl").exists()
    for options in ("--threshold 0.5", "--text_column context"):
        told = refusal(capsys, predict.main, f"--model {run} --input {table} {options}".split())
        assert "the model answers questions; leave it out" in told


def test_the_scores_are_those_of_the_answers_and_of_kinds_of_questions() -> None:
    context = "Anna Berg was born in Porto in 1951. She has worked as a baker since 1980."
    asked = {"When was Anna Berg born?": ["1951"], "What is her job?": ["baker"], "Any pets?": []}
    questions = [
        Question(question, context, tuple(Answer(text, context.find(text)) for text in answers))
        for question, answers in asked.items()
    ]
    data = QuestionData({"train": questions, "test": questions}, [])
    told = first_line(evaluate_answers(data, "test", ["", "", ""]))
    assert "gives no answer to everything: it has not learned" in told
    evaluation = evaluate_answers(data, "test", ["1951", "a baker", ""])
    assert evaluation["headline"] is None
    assert evaluation["exact_match"] == evaluation["f1"] == 1
    assert {kind: scores["questions"] for kind, scores in evaluation["kinds"].items()} == {"with": 2, "without": 1}
    assert {baseline["name"] for baseline in evaluation["baselines"]} == {"word overlap", "no answer to any question"}
