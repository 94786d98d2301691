# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The server among clients that send slowly, never finish, leave, or come under the name of somebody else."""

import gc
import json
import socket
from contextlib import ExitStack, suppress
from functools import partial
from threading import Thread
from typing import Any

import httpx
import pytest
import uvicorn
from serving import PATIENCE, holding, metric, save_classifier, served, wait_until

from modeling_scratch.serving.answerers import load_answerer
from modeling_scratch.serving.connections import LimitedConnection

HALF = b"POST /classify HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
LARGE = 2**24  # bytes


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_answerer(str(save_classifier(tmp_path_factory.mktemp("classifier"))))


def connect(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=PATIENCE)


def is_closed(connection: socket.socket) -> bool:
    """By the other side: there is nothing to read, and never will be."""
    try:
        return connection.recv(1000) == b""
    except ConnectionError:
        return True


def send_without_end(connection: socket.socket) -> None:
    while True:
        connection.sendall(b" ")


def test_half_sent_requests_keep_nobody_out_and_end(task: Any) -> None:
    with served(task, max_connections=8, timeout=0.5) as client, ExitStack() as stack:
        slow = [stack.enter_context(connect(client)) for _ in range(20)]
        for connection in slow:
            with suppress(ConnectionError):  # closed already, as there are newer ones
                connection.sendall(HALF)
        assert client.post("/classify", json={"inputs": "word1"}).status_code == 200
        assert all(map(is_closed, slow))


def test_a_connection_without_a_request_ends(task: Any) -> None:
    with served(task, timeout=0.2) as client, connect(client) as connection:
        assert is_closed(connection)


def test_bytes_that_go_on_after_the_answer_do_not_hold_a_connection(task: Any) -> None:
    """A body that is too long, and is sent all the same."""
    with served(task, timeout=0.2) as client, connect(client) as connection:
        head = b"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 1000000000\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")
        with pytest.raises(ConnectionError):
            send_without_end(connection)


async def large_answer(scope: Any, receive: Any, send: Any) -> None:
    """An application whose answers are larger than what the system holds for a client."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Length", b"%d" % LARGE)]})
    await send({"type": "http.response.body", "body": bytes(LARGE)})


def test_a_client_that_reads_slowly_gets_the_whole_answer() -> None:
    """It has the time of a request for it, and not that of the head of the next one."""
    protocol: Any = partial(LimitedConnection, head=0.1, request=2 * PATIENCE, most=10)
    server = uvicorn.Server(uvicorn.Config(large_answer, http=protocol, log_level="warning", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        with socket.socket() as slow, socket.socket() as silent:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**14)
            for connection in (slow, silent):
                connection.settimeout(PATIENCE)
            slow.connect(listener.getsockname())
            slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            head = slow.recv(1)
            silent.connect(listener.getsockname())
            assert is_closed(silent)
            head, body = (head + b"".join(iter(partial(slow.recv, 2**20), b""))).split(b"\r\n\r\n", 1)
            assert len(body) == LARGE
        server.should_exit = True
        thread.join(PATIENCE)


HOSTS = [
    ({"Host": "localhost"}, 200), ({"Host": "127.0.0.1:8000"}, 200), ({"Host": "[::1]:8000"}, 200),
    ({"Host": "LOCALHOST"}, 200), ({"Host": "attacker.example"}, 403), ({"Host": "localhost.attacker.example"}, 403),
    ({"Host": "[::1"}, 403), ({"Host": ""}, 403), ({"Origin": "http://localhost:3000"}, 200),
    ({"Origin": "https://attacker.example"}, 403), ({"Origin": "null"}, 403), ({"Host": "models.example"}, 200),
]  # fmt: skip


def test_requests_for_another_host_are_refused(task: Any) -> None:
    """A page of the web can have a browser send them."""
    with served(task, allow_host=["models.example"]) as client:
        for headers, status in HOSTS:
            response = client.post("/classify", json={"inputs": "word1"}, headers=headers)
            assert response.status_code == status, headers
            assert status == 200 or "see --allow_host" in response.json()["error"]
    with served(task, allow_host=["*"]) as client:
        assert client.get("/health", headers={"Host": "other.example"}).status_code == 200


def test_clients_that_leave_leave_nothing_in_the_log(task: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Neither those whose texts the model is working on, nor those whose texts wait."""
    body = json.dumps({"inputs": ["word1", "word2"]}).encode()
    head = "POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with holding(task) as held, served(held) as client:
        with connect(client) as first, connect(client) as second:
            for connection in (first, second):
                connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                assert held.working.wait(PATIENCE)
            wait_until(lambda: metric(client, "serve_queue_texts") == 2)
        wait_until(lambda: metric(client, 'serve_requests_total{route="/classify",status="499"}') == 2)
        held.gate.set()
        assert client.post("/classify", json={"inputs": "word1"}).status_code == 200
        assert metric(client, "serve_batch_texts_sum") == 3  # those that waited never came to the model
    gc.collect()
    assert [record.getMessage() for record in caplog.records if "never retrieved" in record.getMessage()] == []
