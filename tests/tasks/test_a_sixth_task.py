# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A task is one file: multiple choice of docs/examples trains, predicts, serves, and has a page and a card."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.openapi.models import OpenAPI
from huggingface_hub import ModelCard
from serving import served
from text_samples import predicted

from modeling_scratch import tasks
from modeling_scratch.inference.arguments import PredictArguments
from modeling_scratch.run.train import train
from modeling_scratch.serving.answerers import load_answerer, load_page
from modeling_scratch.utils.command_line import parsed
from modeling_scratch.utils.errors import DataError

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
OPTIONS = """--config_overrides hidden_size=32,num_hidden_layers=1,num_attention_heads=2,intermediate_size=32
--tokenizer_kind wordlevel --min_frequency 1 --vocab_size 60 --learning_rate 1e-2 --num_train_epochs 6
--report_to none --use_cpu --disable_tqdm True"""
GOOD, BAD = ("warm", "kind", "bright", "calm"), ("cold", "cruel", "dull", "loud", "grey", "sour")


def exercises(number: int, seed: int) -> list[dict[str, Any]]:
    """Questions whose right choice is the one with a good word."""
    generator = random.Random(seed)
    rows = []
    for index in range(number):
        right = f"a {generator.choice(GOOD)} one"
        choices = [right, *(f"a {word} one" for word in generator.sample(BAD, 2))]
        generator.shuffle(choices)
        context = "\n".join(choices)
        answers = [{"text": right, "answer_start": context.index(right)}]
        rows.append({"question": f"which of {index}?", "context": context, "answers": answers})
    return rows


@pytest.fixture(scope="module")
def task() -> Iterator[Any]:
    """The task, as if its file and its row were in the package."""
    tasks.__path__.append(str(EXAMPLES))
    tasks.PROGRAMS["train_choices"] = "choose"
    yield tasks.named("choose")
    del tasks.PROGRAMS["train_choices"]
    tasks.__path__.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def run(task: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choices")
    for seed, (split, number) in enumerate({"train": 120, "validation": 20, "test": 30}.items()):
        lines = "\n".join(map(json.dumps, exercises(number, seed)))
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    options = f"--data_dir {folder} --output_dir {folder / 'run'} {OPTIONS}"
    train(task, *parsed(task.arguments, options.split(), raises=True))
    return folder / "run"


def test_it_learns_and_has_a_card(run: Path) -> None:
    evaluation = json.loads((run / "evaluation.json").read_text())
    [chance] = evaluation["baselines"]
    assert evaluation["accuracy"] > 0.9 > chance["accuracy"] == pytest.approx(1 / 3)
    card = ModelCard.load(run / "README.md")
    assert "chooses the right one of several answers" in card.text
    assert card.data.eval_results[0].metric_value == evaluation["accuracy"]


def test_predict_and_the_server_give_the_same_answers(run: Path, tmp_path: Path) -> None:
    options, asked = ("--with_text", "--keep_columns", "question"), exercises(30, 2)
    rows = predicted(run, run.parent / "test.jsonl", tmp_path / "out.jsonl", *options)
    for name, column in {"question": "given_question", "context": "context"}.items():
        assert [row[column] for row in rows] == [each[name] for each in asked]
    found = [row["answer"] for row in rows]
    assert sum(one["answer"] == each["answers"][0]["text"] for one, each in zip(found, asked)) > 27
    with served(load_answerer(str(run), "cpu"), max_texts=40) as client:
        inputs = [{name: each[name] for name in ("question", "context")} for each in asked]
        outputs = client.post("/choose", json={"inputs": inputs}).json()["outputs"]
        OpenAPI(**client.get("/openapi.json").json())
    assert [one["answer"] for one in outputs] == [one["answer"] for one in found]
    assert [one["score"] for one in outputs] == pytest.approx([one["score"] for one in found], abs=1e-5)


def test_a_page_shows_the_answer_and_refuses_what_cannot_be_read(run: Path) -> None:
    page = load_page(PredictArguments(model=str(run), device="cpu"))
    exercise = exercises(1, 2)[0]
    texts = exercise["question"], exercise["context"]
    page.check(1_000, *texts)
    assert page.answer(*texts)[0]["answer"] == exercise["answers"][0]["text"]
    assert (page.action, page.fields) == ("choose", ("question", "context"))
    with pytest.raises(DataError, match="context: empty; write a text"):
        page.check(1_000, texts[0], " ")
    with pytest.raises(DataError, match="question: 1,001 characters; the maximum is 1,000"):
        page.check(1_000, "a" * 1_001, texts[1])
