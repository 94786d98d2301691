# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""serve.py over real HTTP: the answers of a pipeline, whoever asks at the same time, and clear refusals."""

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import serve
import torch
import writers
from conftest import redraw
from serving import (
    PATIENCE,
    HeldTask,
    holding,
    metric,
    save_classifier,
    save_translator,
    served,
    server_process,
    wait_until,
)
from transformers import ByT5Tokenizer, T5Config, T5ForConditionalGeneration, pipeline

from modeling_scratch.serving import server as serve_room
from modeling_scratch.serving.tasks import load_task

TEXTS = [writers.text_of(length) for length in range(1, 21)]
LONG = writers.text_of(3 * writers.POSITIONS)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_translator(tmp_path_factory.mktemp("translator"))


@pytest.fixture(scope="module")
def classify_task(classifier: Path) -> Any:
    return load_task(str(classifier))


@pytest.fixture(scope="module")
def translate_task(translator: Path) -> Any:
    return load_task(str(translator), max_beams=4, max_new_tokens=writers.POSITIONS)


@pytest.fixture
def held(classify_task: Any) -> Iterator[HeldTask]:
    with holding(classify_task) as task:
        yield task


@pytest.fixture(scope="module")
def client(classify_task: Any) -> Iterator[httpx.Client]:
    with served(classify_task, max_texts=4) as client:
        yield client


def agrees(answer: Any, expected: Any) -> bool:
    """Lists of labels, scores to 1e-5."""
    if isinstance(expected, list):
        return len(answer) == len(expected) and all(map(agrees, answer, expected))
    return answer["label"] == expected["label"] and answer["score"] == pytest.approx(expected["score"], abs=1e-5)


@pytest.mark.parametrize("inputs", [TEXTS[6], TEXTS[:4], [TEXTS[6]], LONG, ""])
@pytest.mark.parametrize("top_k", [1, 2, 1000])
def test_labels_are_those_of_the_pipeline(client: httpx.Client, classifier: Path, inputs: Any, top_k: int) -> None:
    pipe = pipeline("text-classification", model=str(classifier), trust_remote_code=False)
    response = client.post("/classify", json={"inputs": inputs, "top_k": top_k})
    assert response.status_code == 200
    assert agrees(response.json()["outputs"], pipe(inputs, top_k=top_k, truncation=True))


def test_one_label_is_what_is_asked_for_mostly(client: httpx.Client) -> None:
    outputs = client.post("/classify", json={"inputs": TEXTS[6]}).json()["outputs"]
    assert outputs == client.post("/classify", json={"inputs": TEXTS[6], "top_k": 1}).json()["outputs"]
    assert len(outputs) == 1


def test_texts_that_are_cut_are_told(client: httpx.Client) -> None:
    exact = writers.text_of(writers.POSITIONS - 2)
    for inputs, truncated in ((LONG, True), (exact, False), ([exact, LONG], [False, True])):
        assert client.post("/classify", json={"inputs": inputs}).json()["truncated"] == truncated


@pytest.mark.parametrize("inputs", [TEXTS[6], TEXTS[:4], LONG])
@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "max_new_tokens": 5}])
def test_translations_are_those_of_the_pipeline(translate_task: Any, inputs: Any, options: dict) -> None:
    with served(translate_task) as client:
        response = client.post("/translate", json={"inputs": inputs, **options})
    assert response.json()["outputs"] == translate_task.pipe(inputs, truncation=True, **options)


def test_a_tokenizer_written_in_python_is_served(tmp_path: Path) -> None:
    tokenizer = ByT5Tokenizer(model_max_length=8)
    sizes: Any = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
    folder = writers.save(tmp_path, redraw(T5ForConditionalGeneration(T5Config(vocab_size=384, **sizes))), tokenizer)
    task, options = load_task(str(folder)), {"max_new_tokens": 4}
    texts = ["exactly", "too long"]
    with served(task) as client:
        content = client.post("/translate", json={"inputs": texts, **options}).json()
    assert content == {"outputs": task.pipe(texts, truncation=True, **options), "truncated": [False, True]}


def test_who_asks_at_the_same_time_shares_batches_and_gets_his_own(held: HeldTask) -> None:
    with served(held) as client, ThreadPoolExecutor(len(TEXTS)) as clients:

        def ask(text: str) -> Any:
            return client.post("/classify", json={"inputs": text, "top_k": 3}).json()["outputs"]

        first = clients.submit(ask, TEXTS[0])
        assert held.working.wait(PATIENCE)
        others = [clients.submit(ask, text) for text in TEXTS[1:]]
        wait_until(lambda: metric(client, "serve_queue_texts") == len(others))
        held.gate.set()
        for text, answer in zip(TEXTS, [first, *others]):
            assert agrees(answer.result(), held.pipe(text, top_k=3))
        assert metric(client, "serve_batch_texts_count") == 2
        assert metric(client, "serve_batch_texts_sum") == len(TEXTS)
        assert metric(client, "serve_tokens_total") == sum(len(text.split()) + 2 for text in TEXTS)


def test_translations_of_different_searches_do_not_mix(translate_task: Any) -> None:
    held = HeldTask.of(translate_task)
    held.gate.clear()
    searches = [{"num_beams": 1 + number % 3, "max_new_tokens": 4 + number % 2} for number in range(12)]
    with served(held) as client, ThreadPoolExecutor(len(searches)) as clients:
        asked = [
            clients.submit(client.post, "/translate", json={"inputs": text, **search})
            for text, search in zip(TEXTS, searches)
        ]
        held.gate.set()
        for text, search, answer in zip(TEXTS, searches, asked):
            assert answer.result().json()["outputs"] == translate_task.pipe(text, **search)


@pytest.mark.slow  # a process that imports everything
def test_what_was_accepted_is_answered_before_the_server_ends(translator: Path) -> None:
    body = json.dumps({"inputs": TEXTS[5], "max_new_tokens": 6}).encode()
    with server_process(translator) as (process, url):
        address = (httpx.URL(url).host, httpx.URL(url).port or 0)
        assert httpx.get(f"{url}/health").status_code == 200
        with socket.create_connection(address, timeout=PATIENCE) as connection:
            head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
            head += f"\r\nContent-Length: {len(body)}"
            connection.sendall(f"{head}\r\nExpect: 100-continue\r\n\r\n".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 100")  # it has begun with the request
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not is_open(address))
            connection.sendall(body)
            response = http.client.HTTPResponse(connection)
            response.begin()
            outputs = json.loads(response.read())["outputs"]
        errors = process.communicate(timeout=PATIENCE)[1]
    assert outputs == load_task(str(translator)).pipe(TEXTS[5], max_new_tokens=6)
    assert (process.returncode, errors) == (0, "")


def is_open(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=PATIENCE).close()
    except ConnectionError:  # refused, or taken back while the listener closes
        return False
    return True


def expect_error(capfd: pytest.CaptureFixture, arguments: list[str], *pieces: str) -> None:
    """Exit code 2, and one line on standard error that has every piece."""
    with pytest.raises(SystemExit) as caught:
        serve.main(arguments)
    assert caught.value.code == 2
    line = capfd.readouterr().err.splitlines()[-1]
    assert [piece for piece in pieces if piece not in line] == [], line


def test_what_cannot_be_served_is_said(capfd: pytest.CaptureFixture, classifier: Path, tmp_path: Path) -> None:
    with serve_room.open_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        expect_error(capfd, ["--model", str(classifier), "--port", port], f"--port {port}", "in use")
    expect_error(capfd, ["--model", str(tmp_path / "nix"), "--port", "0"], "folder not found")
    expect_error(capfd, ["--model", str(tmp_path), "--port", "0"], str(tmp_path), "config.json")
    decoder = writers.save(tmp_path / "decoder", writers.decoder(writers.characters()), writers.characters())
    expect_error(capfd, ["--model", str(decoder), "--port", "0"], "neither classifies nor translates")
    damaged = load_task(str(classifier)).pipe
    torch.nn.init.constant_(damaged.model.get_input_embeddings().weight, float("nan"))
    damaged.save_pretrained(tmp_path / "damaged")
    expect_error(capfd, ["--model", str(tmp_path / "damaged"), "--port", "0"], "weights are damaged")
    for wrong in (["--max_texts", "0"], ["--timeout", "0"], ["--port", "70000"], ["--max_texts", "2000"]):
        expect_error(capfd, ["--model", str(classifier), *wrong], *wrong)


def test_a_tokenizer_without_a_limit_cuts_where_the_positions_end(tmp_path: Path) -> None:
    tokenizer = writers.words()
    tokenizer.model_max_length = 10**9
    folder = writers.save(tmp_path, writers.translator(tokenizer, tokenizer), tokenizer)
    (job,) = load_task(str(folder)).encode([LONG], {})
    assert (len(job.features["input_ids"]), job.truncated) == (writers.POSITIONS, True)
