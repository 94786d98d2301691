# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""serve.py over real HTTP: the answers of a pipeline, whoever asks at the same time; and what is wrong, too large, too
late or too much is refused, and costs the model nothing."""

import asyncio
import http.client
import json
import math
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import httpx
import pytest
import serve
import torch
import writers
from fastapi import HTTPException
from fastapi.openapi.models import OpenAPI
from jsonschema import Draft202012Validator
from serving import PATIENCE, holding, save_classifier, served, server_process, wait_until, waiting
from shared import refused
from transformers import pipeline

from modeling_scratch.serving.answerers import load_answerer
from modeling_scratch.serving.app import build_app
from modeling_scratch.serving.batches import Batcher, Job
from modeling_scratch.serving.server import ServeArguments, open_socket

TEXTS = [writers.text_of(length) for length in range(1, 21)]
LONG = writers.text_of(3 * writers.POSITIONS)
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return writers.save_translator(tmp_path_factory.mktemp("translator"))


@pytest.fixture(scope="module")
def pipe(classifier):
    return pipeline("text-classification", model=str(classifier), trust_remote_code=False)


@pytest.fixture(scope="module")
def translate(translator):
    return pipeline("seq2seq-translation", model=str(translator), device="cpu")


@pytest.fixture(scope="module")
def classify_task(classifier):
    return load_answerer(str(classifier))


@pytest.fixture(scope="module")
def translate_task(translator):
    return load_answerer(str(translator), max_beams=4, max_new_tokens=writers.POSITIONS)


@pytest.fixture
def held(classify_task):
    with holding(classify_task) as task:
        yield task


@pytest.fixture(scope="module")
def client(classify_task):
    with served(classify_task, max_texts=4, max_characters=1000, max_body_bytes=5000) as client:
        yield client


def agrees(answer: Any, expected: Any) -> bool:
    """Lists of labels, scores to 1e-5."""
    if isinstance(expected, list):
        return len(answer) == len(expected) and all(map(agrees, answer, expected))
    return answer["label"] == expected["label"] and answer["score"] == pytest.approx(expected["score"], abs=1e-5)


def ask(client: httpx.Client, inputs: Any, route: str = "/classify", **options: Any) -> httpx.Response:
    return client.post(route, json={"inputs": inputs, **options})


# Answers


def test_labels_are_those_of_the_pipeline(client, pipe):
    exact = writers.text_of(writers.POSITIONS - 2)
    for inputs, options, truncated in (
        (exact, {}, False), (TEXTS[:4], {"top_k": 2}, [False] * 4), ([exact, LONG], {"top_k": 1000}, [False, True]),
    ):  # fmt: skip
        answer = ask(client, inputs, **options).json()
        assert agrees(answer["outputs"], pipe(inputs, **{"top_k": 1, **options}, truncation=True))
        assert answer["truncated"] == truncated
    best = ask(client, TEXTS[6]).json()
    assert best["labels"] == best["outputs"][0]["label"]
    unsure = ask(client, TEXTS[6], threshold=1.0).json()
    assert unsure == {**best, "labels": None}


def test_translations_are_those_of_the_pipeline(translate_task, translate):
    with served(translate_task) as client:
        for inputs, options in ((TEXTS[6], {}), (TEXTS[:4], {"num_beams": 3, "max_new_tokens": 5}), (LONG, {})):
            outputs = ask(client, inputs, "/translate", **options).json()["outputs"]
            assert outputs == translate(inputs, truncation=True, **options)


def test_texts_without_a_visible_character_have_no_answer(client, translate_task, translate):
    """As in the output of predict, which has neither label nor score for them."""
    told = ask(client, [TEXTS[6], " \n\u200b", ""], top_k="all", threshold=0.0).json()
    alone = ask(client, TEXTS[6], top_k="all", threshold=0.0).json()
    assert told["outputs"][1:] == [[], []]
    assert told["labels"] == [alone["labels"], None, None]
    assert told["truncated"] == [False] * 3
    assert agrees(told["outputs"][0], alone["outputs"])
    assert ask(client, "").json() == {"outputs": [], "truncated": False, "labels": None}
    with served(translate_task) as translator:
        outputs = ask(translator, ["", TEXTS[3]], "/translate").json()["outputs"]
    assert outputs == [{"translation_text": ""}, *translate([TEXTS[3]], truncation=True)]


def test_who_asks_at_the_same_time_shares_batches_and_gets_his_own(held, pipe):
    with served(held) as client, ThreadPoolExecutor(len(TEXTS)) as clients:
        first = clients.submit(ask, client, TEXTS[0], top_k=3)
        assert held.working.wait(PATIENCE)
        others = [clients.submit(ask, client, text, top_k=3) for text in TEXTS[1:]]
        wait_until(lambda: waiting(client) == len(others))
        held.gate.set()
        for text, answer in zip(TEXTS, [first, *others]):
            assert agrees(answer.result().json()["outputs"], pipe(text, top_k=3))
        assert held.batches == [1, len(others)]


@pytest.mark.slow  # a process that imports everything
def test_what_was_accepted_is_answered_before_the_server_ends(translator, translate):
    body = json.dumps({"inputs": TEXTS[5], "max_new_tokens": 6}).encode()
    with server_process(translator) as (process, url):
        assert httpx.get(f"{url}/health").status_code == 200
        with connected(httpx.URL(url), len(body), "/translate", "Expect: 100-continue") as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 100")  # it has begun with the request
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not is_open(httpx.URL(url)))
            connection.sendall(body)
            response = http.client.HTTPResponse(connection)
            response.begin()
            outputs = json.loads(response.read())["outputs"]
        errors = process.communicate(timeout=PATIENCE)[1]
    assert outputs == translate(TEXTS[5], max_new_tokens=6)
    assert (process.returncode, errors) == (0, "")


@contextmanager
def connected(url: httpx.URL, length: int, route: str = "/classify", *headers: str) -> Any:
    """A connection on which the head of a request was sent."""
    with socket.create_connection((url.host, url.port or 0), timeout=PATIENCE) as connection:
        headers = "Host: localhost", "Content-Type: application/json", f"Content-Length: {length}", *headers
        connection.sendall("\r\n".join([f"POST {route} HTTP/1.1", *headers, "", ""]).encode())
        yield connection


def is_open(url: httpx.URL) -> bool:
    try:
        socket.create_connection((url.host, url.port or 0), timeout=PATIENCE).close()
    except ConnectionError:  # refused, or taken back while the listener closes
        return False
    return True


# The queue


def job(number: int, tokens: int = 1, **options: Any) -> Job:
    return Job({"number": number}, tokens, options=tuple(options.items()))


def test_a_batch_has_its_budget_and_the_oldest_goes_first() -> None:
    batches: list[list[int]] = []
    begun, gate = Event(), Event()

    def run(jobs: list) -> list:
        batches.append([each.features["number"] for each in jobs])
        begun.set()
        assert gate.wait(PATIENCE)
        return batches[-1]

    async def ask() -> list[list[int]]:
        batcher = Batcher(run, max_tokens=10, max_waiting=6)
        first = asyncio.create_task(batcher.answer([job(0)]))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        asked = [job(1, 4), job(2, 20), job(3, 5), job(5, 1, num_beams=2), job(6, 1)]
        left = asyncio.create_task(batcher.answer([job(4, 2)]))
        others = asyncio.create_task(batcher.answer(asked))
        await asyncio.sleep(0)  # both are queued
        with pytest.raises(HTTPException, match="503: the queue is full") as refused:
            await batcher.answer([job(7)])
        assert refused.value.headers == {"Retry-After": "1"}
        left.cancel()
        await asyncio.wait([left])
        gate.set()
        return [await asyncio.wait_for(each, PATIENCE) for each in (first, others)]

    assert asyncio.run(ask()) == [[0], [1, 2, 3, 5, 6]]
    assert batches == [[0], [3, 1], [2], [5], [6]]  # padded: 2 jobs of 5 tokens are 10


# The interface as a document


@pytest.mark.parametrize("kind", ["classify", "translate"])
def test_what_is_documented_is_answered_and_what_is_excluded_is_refused(kind, classify_task, translate_task):
    """Values at the ends of what an option may have, and beside them."""
    task = {"classify": classify_task, "translate": translate_task}[kind]
    with served(task) as client:
        document = client.get("/openapi.json").json()
        OpenAPI(**document)

        def fits(value: Any, name: str) -> bool:
            schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
            return Draft202012Validator(schema).is_valid(value)

        assert fits(client.get("/health").json(), "Health")
        values = [("inputs", value) for value in ("a", ["a"], [], ["a"] * 65, 1, None, ["a", 2])] + [("other", 1)]
        for name in task.options:
            values += [(name, value) for value in (-1, 0, 1, 0.5, 1.5, 1001, True, "all", "most", None, [])]
        for name, value in values:
            body = {"inputs": "a", name: value}
            response = client.post(f"/{kind}", json=body)
            assert response.status_code == (200 if fits(body, "Request") else 422), (body, response.text)
            assert fits(response.json(), "Answer" if response.status_code == 200 else "Fault"), response.text
            assert response.status_code == 200 or response.json()["error"].startswith(name)


# Refusals


def test_what_cannot_be_served_is_said(capfd, classifier, tmp_path):
    decoder = writers.save(tmp_path / "decoder", writers.decoder(writers.characters()), writers.characters())
    damaged = pipeline("text-classification", model=str(classifier))
    torch.nn.init.constant_(damaged.model.get_input_embeddings().weight, math.nan)
    damaged.save_pretrained(tmp_path / "damaged")
    for folder, *pieces in (
        (tmp_path / "nix", "folder not found"),
        (tmp_path, str(tmp_path), "a folder of models: damaged, decoder; name one of them"),
        (decoder, "does not classify, tag, translate or answer"),
        (tmp_path / "damaged", "weights are damaged"),
    ):
        refused(capfd, serve.main, ["--model", folder, "--port", "0"], *pieces)
    with open_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        refused(capfd, serve.main, ["--model", classifier, "--port", port], f"--port {port}", "in use")
    for wrong in (["--max_texts", "0"], ["--timeout", "0"], ["--port", "70000"], ["--max_connections", "0"]):
        refused(capfd, serve.main, ["--model", classifier, *wrong], *wrong)


REFUSED = [
    (400, b'{"inputs": ', JSON, "JSON"),
    (400, b'{"inputs": "\xff"}', JSON, "the body is not UTF-8: byte 13 is invalid"),
    (413, b" " * 5001, JSON, "5,000 bytes"),
    (415, b'{"inputs": "a"}', {"Content-Type": "text/plain"}, "application/json"),
    (422, b'{"text": "a"}', JSON, "inputs"),
    (422, b'{"inputs": ["a", 2]}', JSON, "inputs, text 2: Input should be a valid string"),
    (422, b'{"inputs": []}', JSON, "inputs: List should have at least 1 item"),
    (422, b'{"inputs": ["a", "a", "a", "a", "a"]}', JSON, "at most 4 items"),
    (422, b'{"inputs": "' + b"a" * 1001 + b'"}', JSON, "at most 1000 characters"),
    (422, b'{"inputs": "\\ud800"}', JSON, "inputs: Input should be a valid string"),
    (422, b'{"inputs": "a", "top_k": 0}', JSON, "top_k"),
    (422, b'{"inputs": "a", "top_k": "most"}', JSON, "top_k: Input should be a valid integer or Input should be 'all'"),
    (422, b'{"inputs": "a", "threshold": 80}', JSON, "threshold: Input should be less than or equal to 1"),
    (422, b'{"inputs": "a", "threshold": NaN}', JSON, "threshold"),
    (422, b'{"inputs": "a", "num_beams": 2}', JSON, "num_beams: Extra inputs are not permitted"),
]


def test_what_cannot_be_answered_is_refused(client):
    for status, body, headers, piece in REFUSED:
        response = client.post("/classify", content=body, headers=headers)
        assert (response.status_code, piece in response.json()["error"]) == (status, True), body
        assert str(status) in client.get("/openapi.json").json()["paths"]["/classify"]["post"]["responses"]
        assert ask(client, "a").status_code == 200


def test_pieces_of_a_body_are_measured_together(classify_task):
    """Without a length in front; a connection may bring several at once, here each comes alone."""

    async def pieces() -> Any:
        for piece in (b'{"inputs": ["a"', *[b" " * 1000] * 5, b"]}"):
            yield piece

    async def status(max_body_bytes: int) -> int:
        app = build_app(classify_task, ServeArguments(model="", max_body_bytes=max_body_bytes))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.post("/classify", content=pieces(), headers=JSON)).status_code

    assert asyncio.run(status(5017)) == 200
    assert asyncio.run(status(5016)) == 413


def test_a_body_that_does_not_come_is_not_waited_for(classify_task):
    with served(classify_task, timeout=0.2) as client, connected(client.base_url, length=15) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_the_limits_bind_what_the_checkpoint_asks_for_too(tmp_path):
    """Of a request without options; and each beam counts as a text of the batch."""
    tokenizer = writers.words()
    model = writers.translator(tokenizer, tokenizer)
    folder = writers.save(tmp_path, model, tokenizer, num_beams=5, num_return_sequences=5, max_length=10)
    for limits, beams, new in ({}, 5, 9), ({"max_beams": 2, "max_new_tokens": 3}, 2, 3):
        task = load_answerer(str(folder), **limits)
        jobs, wanted = task.encode(TEXTS[:2], {}), {"num_beams": beams, "max_new_tokens": new}
        assert dict(jobs[0].options) == {**wanted, "num_return_sequences": 1}
        assert [job.tokens for job in jobs] == [beams * len(job.features["input_ids"]) for job in jobs]
    translate = pipeline("seq2seq-translation", model=str(folder), device="cpu")
    assert task.response(jobs, task.run(jobs), {}, True)["outputs"] == translate(
        TEXTS[:2], num_return_sequences=1, **wanted
    )


def test_other_routes_are_told_apart(client):
    response = ask(client, "a", "/translate")
    assert (response.status_code, "POST /classify" in response.json()["error"]) == (404, True)
    assert client.get("/classify").status_code == 405
    assert client.get("/any/thing").status_code == 404
    assert client.get("/health").json() == {"status": "ok", "route": "/classify", "waiting": 0}


def test_a_text_that_the_model_fails_on_is_the_only_one_to_fail(classifier):
    """Its weights are damaged, those of one word."""
    task = load_answerer(str(classifier))
    with torch.no_grad():
        task.pipe.model.get_input_embeddings().weight[task.pipe.tokenizer.convert_tokens_to_ids("word7")] = math.nan
    with holding(task) as held, served(held) as client, ThreadPoolExecutor(4) as clients:
        first = clients.submit(ask, client, "word1")
        assert held.working.wait(PATIENCE)
        others = [clients.submit(ask, client, text) for text in ("word1 word2", "word6 word7", "word8")]
        wait_until(lambda: waiting(client) == len(others))
        held.gate.set()
        assert [asked.result().status_code for asked in (first, *others)] == [200, 200, 500, 200]
        assert "weights are damaged" in others[1].result().json()["error"]


def test_a_request_that_takes_too_long_is_dropped(held):
    with served(held, timeout=0.2) as client:
        assert ask(client, "a").status_code == 504  # the model has begun with it
        assert ask(client, TEXTS[:2]).status_code == 504  # and never sees this one
        assert waiting(client) == 0
        held.gate.set()
        assert ask(client, "a").status_code == 200
        assert held.batches == [1, 1]


def test_the_time_of_a_body_is_a_part_of_that_of_its_request(held):
    """Of two requests that the model never answers, the first one ends first, though its body came last."""
    with (
        served(held, timeout=2) as client,
        served(held, timeout=1) as clock,
        ThreadPoolExecutor(1) as clients,
        connected(client.base_url, 15, "/classify", "Expect: 100-continue") as first,
    ):
        assert first.recv(1000).startswith(b"HTTP/1.1 100")  # it has begun with the request
        second = clients.submit(ask, client, "a")
        assert held.working.wait(PATIENCE)
        assert ask(clock, "a").status_code == 504
        first.sendall(b'{"inputs": "a"}')
        assert second.result().status_code == 504
        first.setblocking(False)
        assert first.recv(1000).startswith(b"HTTP/1.1 504")
        held.gate.set()


HOSTS = [
    ({"Host": "localhost"}, 200), ({"Host": "127.0.0.1:8000"}, 200), ({"Host": "[::1]:8000"}, 200),
    ({"Host": "LOCALHOST"}, 200), ({"Host": "attacker.example"}, 403), ({"Host": "localhost.attacker.example"}, 403),
    ({"Host": "[::1"}, 403), ({"Host": ""}, 403), ({"Origin": "http://localhost:3000"}, 200),
    ({"Origin": "https://attacker.example"}, 403), ({"Origin": "null"}, 403), ({"Host": "models.example"}, 200),
]  # fmt: skip


def test_requests_for_another_host_are_refused(classify_task):
    """A page of the web can have a browser send them."""
    with served(classify_task, allow_host=["models.example"]) as client:
        for headers, status in HOSTS:
            response = client.post("/classify", json={"inputs": "word1"}, headers=headers)
            assert response.status_code == status, headers
            assert status == 200 or "see --allow_host" in response.json()["error"]
    with served(classify_task, allow_host=["*"]) as client:
        assert client.get("/health", headers={"Host": "other.example"}).status_code == 200
