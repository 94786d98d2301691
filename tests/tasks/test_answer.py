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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import refusal
from serving import served
from text_samples import fault, predicted, write
from transformers import pipeline

from modeling_scratch import ScratchEncoderForQuestionAnswering, presets
from modeling_scratch.data.questions import Answer, Question, QuestionData, QuestionDataArguments, load_questions
from modeling_scratch.report.answer_scores import score_answers
from modeling_scratch.run.layout import PREDICTIONS
from modeling_scratch.serving.answerers import load_answerer
from modeling_scratch.tasks.answer import encode_questions, evaluate_answers
from modeling_scratch.tasks.answerer import record_settings
from modeling_scratch.tasks.card import first_line
from modeling_scratch.tasks.reader import PIPELINE, Reader
from tokenization import KINDS, special_token_ids

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


# Windows of contexts and their labels: each answer is found where it is labelled, in any text, and padding is none

LENGTH = 40
WORDS = ("tower", "Eiffel", "1889", "naïve", "“crêpes”", "日本語", "🗼", "e\u0301", "\u200bx", "ﬁn", "İ", "3,50")
ASKED = "who built the tower?"
CORPUS = [f"{ASKED} {' '.join(WORDS[:8])}"] * 4


def reader_of(kind: str, **options: Any) -> Reader:
    sizes = {"byte_bpe": 300, "wordlevel": 40, "words": 40, "bpe": 80}
    tokenizer = KINDS[kind](
        CORPUS, sizes[kind], style="bert", token_type_ids=True, model_max_length=LENGTH, show_progress=False, **options
    )
    width = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = presets.demo(vocab_size=len(tokenizer), type_vocab_size=2, **width, **special_token_ids(tokenizer))
    record_settings(config, PIPELINE, max_answer_len=LENGTH, handle_impossible_answer=True)
    return Reader(ScratchEncoderForQuestionAnswering(config), tokenizer)


READERS = {
    "byte_bpe": reader_of("byte_bpe"),
    "cased": reader_of("byte_bpe", lowercase=False, add_prefix_space=True),
    "wordlevel": reader_of("wordlevel"),
}
TEXTS = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)),
    min_size=1, max_size=60,
)  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck), derandomize=True)
@given(words=TEXTS, data=st.data())
def test_labels_cover_the_answer_in_any_text(kind: str, words: list[str], data: Any) -> None:
    """In each window with a label, the tokens cover the answer, and no further token; elsewhere, it is no answer."""
    reader, context = READERS[kind], f"x{' '.join(words)}y"
    first = data.draw(st.integers(0, len(context) - 1))
    answer = Answer(context[first : data.draw(st.integers(first + 1, min(first + 9, len(context))))], first)
    encoded = encode_questions([Question(ASKED, context, (answer,))], reader)
    windows, covered = reader.windows(ASKED, context), 0
    for row, window in zip(encoded.rows, windows):
        encoding = window["encoding"]
        assert row["input_ids"] == encoding.ids
        start, end = row["start_positions"], row["end_positions"]
        if (start, end) == (0, 0):
            assert encoding.ids[0] == reader.pipe.tokenizer.cls_token_id
            continue
        covered += 1
        assert {encoding.sequence_ids[index] for index in (start, end)} == {1}
        for index in (start, end):
            assert max(encoding.offsets[index][0], answer.start) < min(encoding.offsets[index][1], answer.end)
        for index in (start - 1, end + 1):
            if encoding.sequence_ids[index] == 1:
                low, high = encoding.offsets[index]
                assert high <= answer.start or low >= answer.end or low == high
    text = [index for window in windows for index, side in enumerate(window["encoding"].sequence_ids) if side == 1]
    assert len(text) == 0 or covered or encoded.lost == 1
    assert encoded.lost == (covered == 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_only_windows_with_all_of_an_answer_have_a_label(side: str) -> None:
    """On either side of truncation: on the left, the first window is the end of the context."""
    reader, words = reader_of("wordlevel"), ["tower", "Eiffel", "1889"] * 30
    reader.pipe.tokenizer.truncation_side = side
    starts = [len(" ".join(words[:number])) + bool(number) for number in range(0, 84, 5)]
    context = " ".join(words)
    answers = [Answer(" ".join(context[start:].split()[:6]), start) for start in starts]
    encoded = encode_questions([Question(ASKED, context, (answer,)) for answer in answers], reader)
    assert encoded.lost == 0
    windows = [(answer, window) for answer in answers for window in reader.windows(ASKED, context)]
    labelled = 0
    for row, (answer, window) in zip(encoded.rows, windows, strict=True):
        if (places := (row["start_positions"], row["end_positions"])) != (0, 0):
            (start, _), (_, end) = (window["encoding"].offsets[place] for place in places)
            assert context[start:end] == answer.text
            labelled += 1
    assert len(answers) <= labelled < len(windows)


def test_an_answer_longer_than_the_overlap_can_be_in_no_window() -> None:
    reader, context = READERS["wordlevel"], " ".join(["tower"] * 100)
    questions = [Question(ASKED, context, (Answer(context, 0),)), Question(ASKED, "tower", (Answer("tower", 0),))]
    encoded = encode_questions(questions, reader)
    assert encoded.lost == 1
    assert set(encoded.rows["start_positions"][:-1]) == {0}


def test_a_question_without_room_is_refused() -> None:
    with fault("squad.json, data[3]: the question leaves no room for its context; shorten it, or raise --max_length"):
        encode_questions([Question("tower " * 60, "tower", where="squad.json, data[3]")], READERS["wordlevel"])
