# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""serve.py over real HTTP: what is wrong, too large, too late or too much is refused, and costs the model nothing."""

import asyncio
import math
import socket
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import torch
import writers
from serving import PATIENCE, HeldTask, holding, metric, save_classifier, save_translator, served, wait_until
from starlette.exceptions import HTTPException

from modeling_scratch.serving.app import Service, _read_body
from modeling_scratch.serving.server import ServeArguments
from modeling_scratch.serving.tasks import load_task

TEXTS = [writers.text_of(length) for length in (3, 9)]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def classify_task(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_task(str(save_classifier(tmp_path_factory.mktemp("classifier"))))


@pytest.fixture(scope="module")
def client(classify_task: Any) -> Iterator[httpx.Client]:
    with served(classify_task, max_texts=4, max_characters=1000, max_body_bytes=5000) as client:
        yield client


@pytest.fixture
def held(classify_task: Any) -> Iterator[HeldTask]:
    with holding(classify_task) as task:
        yield task


@contextmanager
def connected(client: httpx.Client, length: int) -> Iterator[socket.socket]:
    """A connection on which the head of a request was sent."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE) as connection:
        lines = [
            "POST /classify HTTP/1.1",
            "Host: 127.0.0.1",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        yield connection


REFUSED = [
    (400, b'{"inputs": ', JSON, "JSON"),
    (400, b"[" * 4000, JSON, "JSON"),
    (400, b'{"inputs": "\xff"}', JSON, "JSON"),
    (413, b" " * 5001, JSON, "5,000 bytes"),
    (415, b'{"inputs": "a"}', {"Content-Type": "text/plain"}, "application/json"),
    (415, b'{"inputs": "a"}', {}, "application/json"),
    (422, b'["a"]', JSON, "inputs"),
    (422, b'{"text": "a"}', JSON, "inputs"),
    (422, b'{"inputs": null}', JSON, "text 1: must be a string, not null"),
    (422, b'{"inputs": ["a", 2]}', JSON, "text 2: must be a string, not 2"),
    (422, b'{"inputs": []}', JSON, "0 texts"),
    (422, b'{"inputs": ["a", "a", "a", "a", "a"]}', JSON, "5 texts"),
    (422, b'{"inputs": "' + b"a" * 1001 + b'"}', JSON, "1,001 characters"),
    (422, b'{"inputs": "\\ud800"}', JSON, "surrogate"),
    (422, b'{"inputs": "a", "top_k": 0}', JSON, "top_k"),
    (422, b'{"inputs": "a", "top_k": true}', JSON, "top_k"),
    (422, b'{"inputs": "a", "top_k": "2"}', JSON, "top_k"),
    (422, b'{"inputs": "a", "num_beams": 2}', JSON, "num_beams"),
]


@pytest.mark.parametrize(("status", "body", "headers", "piece"), REFUSED)
def test_what_cannot_be_answered_is_refused(
    client: httpx.Client, status: int, body: bytes, headers: dict, piece: str
) -> None:
    response = client.post("/classify", content=body, headers=headers)
    assert response.status_code == status
    assert piece in response.json()["error"]
    assert client.post("/classify", json={"inputs": "a"}).status_code == 200


def test_a_body_is_measured_while_it_comes(client: httpx.Client) -> None:
    """In pieces, without a length in front."""
    response = client.post("/classify", content=iter([b" " * 1000] * 6), headers=JSON)
    assert response.status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(classify_task: Any) -> None:
    with served(classify_task, timeout=0.2) as client, connected(client, length=15) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_options_of_a_translation_have_limits(tmp_path: Path) -> None:
    task = load_task(str(save_translator(tmp_path)), max_beams=4, max_new_tokens=12)
    with served(task) as client:
        for name, value, most in (("num_beams", 5, 4), ("max_new_tokens", 13, 12)):
            response = client.post("/translate", json={"inputs": "a", name: value})
            assert (response.status_code, f"from 1 to {most}" in response.json()["error"]) == (422, True)


@pytest.mark.parametrize("limits", [{}, {"max_beams": 2, "max_new_tokens": 3}])
def test_the_limits_bind_what_the_checkpoint_asks_for_too(tmp_path: Path, limits: dict[str, Any]) -> None:
    """Of a request without options; and each beam counts as a text of the batch."""
    tokenizer = writers.words()
    model = writers.translator(tokenizer, tokenizer)
    folder = writers.save(tmp_path, model, tokenizer, num_beams=5, num_return_sequences=5, max_length=10)
    task = load_task(str(folder), **limits)
    jobs = task.encode(TEXTS, {})
    wanted = {"num_beams": limits.get("max_beams", 5), "max_new_tokens": limits.get("max_new_tokens", 9)}
    assert dict(jobs[0].options) == {**wanted, "num_return_sequences": 1}
    assert [job.tokens for job in jobs] == [wanted["num_beams"] * len(job.features["input_ids"]) for job in jobs]
    expected = task.pipe(TEXTS, num_return_sequences=1, **wanted)
    assert task.shape(task.run(jobs), True, {}) == expected
    if not limits:
        assert [answers[:1] for answers in task.pipe(TEXTS)] == [[answer] for answer in expected]


def test_other_routes_are_told_apart(client: httpx.Client) -> None:
    response = client.post("/translate", json={"inputs": "a"})
    assert (response.status_code, "POST /classify" in response.json()["error"]) == (404, True)
    assert client.get("/classify").status_code == 405
    assert client.get("/any/thing").status_code == 404
    assert metric(client, 'serve_requests_total{route="other",status="404"}') == 1
    assert client.get("/health").json() == {"status": "ok", "route": "/classify"}


def test_a_text_that_the_model_fails_on_is_the_only_one_to_fail(tmp_path: Path) -> None:
    """Its weights are damaged, those of one word."""
    task = HeldTask.of(load_task(str(save_classifier(tmp_path))))
    with torch.no_grad():
        task.pipe.model.get_input_embeddings().weight[task.pipe.tokenizer.convert_tokens_to_ids("word7")] = math.nan
    task.gate.clear()
    with served(task) as client, ThreadPoolExecutor(4) as clients:
        first = clients.submit(client.post, "/classify", json={"inputs": "word1"})
        assert task.working.wait(PATIENCE)
        texts = ["word1 word2", "word6 word7", "word8"]
        others = [clients.submit(client.post, "/classify", json={"inputs": text}) for text in texts]
        wait_until(lambda: metric(client, "serve_queue_texts") == len(others))
        task.gate.set()
        assert [asked.result().status_code for asked in (first, *others)] == [200, 200, 500, 200]
        assert "weights are damaged" in others[1].result().json()["error"]


def test_a_full_queue_sends_away(held: HeldTask) -> None:
    with served(held, max_waiting=2, max_texts=2) as client, ThreadPoolExecutor(2) as clients:
        first = clients.submit(client.post, "/classify", json={"inputs": "a"})
        assert held.working.wait(PATIENCE)
        second = clients.submit(client.post, "/classify", json={"inputs": TEXTS[:2]})
        wait_until(lambda: metric(client, "serve_queue_texts") == 2)
        response = client.post("/classify", json={"inputs": "a"})
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        held.gate.set()
        assert first.result().status_code == second.result().status_code == 200


def test_a_request_that_takes_too_long_is_dropped(held: HeldTask) -> None:
    with served(held, timeout=0.2) as client:
        assert client.post("/classify", json={"inputs": "a"}).status_code == 504  # the model has begun with it
        assert client.post("/classify", json={"inputs": TEXTS[:2]}).status_code == 504  # and never sees this one
        assert metric(client, "serve_queue_texts") == 0
        held.gate.set()
        wait_until(lambda: metric(client, "serve_batch_texts_count") == 1)
        assert client.post("/classify", json={"inputs": "a"}).status_code == 200
        assert metric(client, "serve_batch_texts_sum") == 2


def test_a_client_that_leaves_is_dropped(held: HeldTask) -> None:
    with served(held) as client, ThreadPoolExecutor(1) as clients:
        first = clients.submit(client.post, "/classify", json={"inputs": "a"})
        assert held.working.wait(PATIENCE)
        with connected(client, length=15) as leaving:
            leaving.sendall(b'{"inputs": "a"}')
            wait_until(lambda: metric(client, "serve_queue_texts") == 1)
        wait_until(lambda: metric(client, 'serve_requests_total{route="/classify",status="499"}') == 1)
        held.gate.set()
        assert first.result().status_code == 200
        assert client.post("/classify", json={"inputs": "a"}).status_code == 200
        assert metric(client, "serve_batch_texts_sum") == 2


def test_the_time_of_a_body_is_a_part_of_that_of_its_request(held: HeldTask) -> None:
    """When all of it is over, the model is not waited for."""

    async def nothing_comes() -> None:
        await asyncio.Event().wait()

    service = Service(held, ServeArguments(model="", timeout=PATIENCE / 4).limits())
    request: Any = SimpleNamespace(receive=nothing_comes)
    begin = time.monotonic()
    with pytest.raises(HTTPException, match="no answer within"):
        asyncio.run(service._answers(held.encode(["a"], {}), request, deadline=begin))
    assert time.monotonic() - begin < PATIENCE / 8


def test_pieces_of_a_body_are_measured_together() -> None:
    """A connection may bring several at once; here each comes alone."""

    async def stream() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b" " * 1000

    request: Any = SimpleNamespace(headers={}, stream=stream)
    assert len(asyncio.run(_read_body(request, 6000))) == 6000
    with pytest.raises(HTTPException, match="longer than 5,999 bytes"):
        asyncio.run(_read_body(request, 5999))
