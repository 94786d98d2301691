# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The demo gives the answers of the pipelines, says what is wrong with a text, and shows nothing of the machine."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import gradio_client
import httpx
import pytest
import torch
from demos import SAVE, demo_of
from shared import refused
from text_samples import fault
from transformers import pipeline, set_seed

from modeling_scratch import ScratchEncoderModel
from modeling_scratch.inference.arguments import PredictArguments
from modeling_scratch.serving.answerers import load_page
from modeling_scratch.sharing.card_summary import Summary, read_summary

TEXT, PAIR = "a slow and bad film by Anna Berg", ("a good film", "not good at all")
CARD = """---
widget:
- text: good
- text: moving
---
# The [best](https://example.org) of _three_

It judges films. ![A badge](https://example.org/badge.svg)

## Results

Not shown.
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {kind: save(root / kind) for kind, save in SAVE.items()}


@contextmanager
def client_of(folder: Path, **options: Any) -> Iterator[Any]:
    with demo_of(folder, **options) as (url, public):
        assert public is None
        yield gradio_client.Client(url, verbose=False)


@pytest.fixture(scope="module")
def classifier(folders: dict[str, Path]) -> Iterator[Any]:
    with client_of(folders["labels"], max_characters=1_000) as client:
        yield client


def scores_of(answer: dict[str, Any]) -> dict[str, float]:
    return {each["label"]: each["confidence"] for each in answer["confidences"]}


def said(client: Any, *values: Any, api_name: str) -> str:
    """The error that the page shows."""
    with pytest.raises(gradio_client.exceptions.AppError) as caught:
        client.predict(*values, api_name=api_name)
    return str(caught.value)


def piped(folder: Path, task: str, *texts: Any, **options: Any) -> Any:
    """The answer of the library's pipeline."""
    return pipeline(task, model=str(folder))(*texts, **options)


def page_of(folder: Path) -> Any:
    return load_page(PredictArguments(model=str(folder), device="cpu"))


@pytest.mark.parametrize("kind", ["sets", "pairs"])
def test_labels_have_the_probabilities_of_the_pipeline(kind: str, folders: dict[str, Path]) -> None:
    texts = PAIR if kind == "pairs" else (TEXT,)
    inputs = dict(zip(("text", "text_pair"), texts)) if kind == "pairs" else TEXT
    expected = piped(folders[kind], "text-classification", inputs, top_k=None)
    answer, note = page_of(folders[kind]).answer(*texts)
    assert answer == pytest.approx({each["label"]: each["score"] for each in expected}, abs=1e-5)
    assert (f"{expected[0]['score']:.4f}" in note) == (kind == "pairs")


def test_the_other_encoders_answer_as_their_pipelines(folders: dict[str, Path]) -> None:
    number, _ = page_of(folders["numbers"]).answer(TEXT)
    expected = piped(folders["numbers"], "text-classification", TEXT)[0]["score"]
    assert number == pytest.approx(expected, abs=1e-5)
    spans = page_of(folders["tags"]).answer(TEXT)[0]["entities"]
    found = piped(folders["tags"], "token-classification", TEXT, aggregation_strategy="simple")
    assert [(TEXT[one["start"] : one["end"]], one["entity"]) for one in spans] == [
        (TEXT[one["start"] : one["end"]], one["entity_group"]) for one in found
    ]
    assert spans
    page, masked = page_of(folders["masks"]), "a good [MASK] from Paris"
    filled = {one["token_str"]: one["score"] for one in piped(folders["masks"], "fill-mask", masked)}
    assert page.answer(masked)[0] == pytest.approx(filled, abs=1e-5)
    for text, told in (
        (f"{masked} [MASK]", "2 times; write it once"),
        ("good " * 50 + "[MASK]", "53 tokens exceed the model's limit of 32; shorten it"),
    ):
        with fault(told):
            page.check(1_000, text)
    answer, place, _ = page_of(folders["questions"]).answer(PAIR[0], TEXT)
    best = piped(folders["questions"], "extractive-question-answering", question=PAIR[0], context=TEXT)
    assert answer == pytest.approx({best["answer"]: best["score"]})
    assert [TEXT[one["start"] : one["end"]] for one in place["entities"]] == [best["answer"]]


def test_a_translation_is_that_of_the_pipeline(folders: dict[str, Path]) -> None:
    text, page = "word1 word2 word3", page_of(folders["translator"])
    for beams in (1, 3):
        options = {"num_beams": beams, "max_new_tokens": 8}
        expected = piped(folders["translator"], "seq2seq-translation", text, **options)
        assert page.answer(text, beams, 8)[0] == expected[0]["translation_text"]
    assert "Only the first" in page.answer("word1 " * 50, 1, 4)[1]


def test_a_text_grows_to_that_of_the_pipeline(folders: dict[str, Path]) -> None:
    write = pipeline("text-generation", model=str(folders["writer"]))
    sampling = {"temperature": 0.7, "top_k": 5, "top_p": 0.9}
    with client_of(folders["writer"]) as client:
        greedy = client.submit("abc", 12, 0, False, 1.0, 50, 1.0, api_name="/write")
        pieces = list(greedy)
        assert pieces[-1] == write("abc", max_new_tokens=12, do_sample=False)[0]["generated_text"]
        assert all(after.startswith(before) for before, after in pairwise(pieces))
        drawn = client.predict("abc", 12, 3, True, *sampling.values(), api_name="/write")
        assert "exceed the model's limit" in said(client, "a" * 60, 8, 0, False, 1.0, 50, 1.0, api_name="/write")
    set_seed(3)
    with torch.inference_mode():
        assert drawn == write("abc", max_new_tokens=12, do_sample=True, **sampling)[0]["generated_text"]


def test_a_person_gets_the_answer_or_what_is_wrong_with_a_text(classifier: Any, folders: dict[str, Path]) -> None:
    answer, note = classifier.predict(TEXT, api_name="/classify")
    expected = piped(folders["labels"], "text-classification", TEXT, top_k=None)
    assert scores_of(answer) == pytest.approx({each["label"]: each["score"] for each in expected}, abs=1e-5)
    assert answer["label"] == expected[0]["label"]
    assert f"{expected[0]['score']:.4f}" in note
    assert said(classifier, " \n", api_name="/classify") == "text: empty; write a text"
    assert said(classifier, "a" * 1_001, api_name="/classify") == "text: 1,001 characters; the maximum is 1,000"
    assert "Only the first 32 tokens were read." in classifier.predict("good " * 50, api_name="/classify")[1]


def test_the_server_shows_its_page_and_no_file(folders: dict[str, Path]) -> None:
    """Nor does it answer to the name of another host, under which a page of the web could ask it."""
    folder = folders["labels"]
    with demo_of(folder) as (url, _), httpx.Client(base_url=url) as http:
        shown = http.get("/").text + http.get("/config").text + http.get("/gradio_api/info").text
        assert str(folder.parent) not in shown
        assert str(Path.cwd()) not in shown
        assert json.loads(http.get("/config").text)["analytics_enabled"] is False
        assert "fonts.googleapis" not in http.get("/theme.css").text
        for path in (folder / "config.json", Path(__file__)):
            assert http.get(f"/gradio_api/file={path}").status_code == 403
        for headers in ({"Host": "example.org"}, {"Origin": "https://example.org"}):
            assert http.get("/", headers=headers).status_code == 403


def test_title_and_examples_are_those_of_the_folder(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD, encoding="utf-8")
    title, examples = read_summary(str(tmp_path))
    assert (title, examples) == ("The [best](https://example.org) of _three_", [("good",), ("moving",)])
    (tmp_path / "README.md").write_text("---\nwidget: 3\n---\n", encoding="utf-8")
    rows = [{"text": f"text {number}", "label": "good", "answer": "bad"} for number in range(12)]
    examples = tmp_path / "examples.jsonl"
    examples.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert read_summary(str(tmp_path), is_public=True).examples == []
    assert read_summary(str(tmp_path)).examples == [(f"text {number}",) for number in range(0, 12, 2)]
    examples.write_text(json.dumps({"text": "a", "text_pair": "b"}))
    assert read_summary(str(tmp_path)).examples == [("a", "b")]
    examples.write_text("[", encoding="utf-8")
    assert read_summary(str(tmp_path)) == Summary(tmp_path.name, [])


def test_what_cannot_be_shown_is_one_line(
    folders: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    import demo as program

    config = ScratchEncoderModel.config_class.from_pretrained(folders["labels"])
    ScratchEncoderModel(config).save_pretrained(tmp_path)  # it has no head
    refused(capfd, program.main, ["--model", tmp_path, "--port", 0], "ScratchEncoderModel has no head")
    refused(capfd, program.main, ["--model", "nowhere/to/be/found", "--port", 0], "nowhere/to/be/found")
    refused(capfd, program.main, ["--model", "x", "--port", 70_000], "--port 70000: must be from 0 to 65535")
    refused(capfd, program.main, ["--model", "x", "--max_characters", 0], "--max_characters 0: must be at least 1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(capfd, program.main, ["--model", folders["labels"], "--port", port], f"--port {port}: Address already")
