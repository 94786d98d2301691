# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A server in a thread of the tests, whose model a test can hold; and a server process, up to its last word."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import httpx
import serve
import uvicorn
import writers
from shared import redraw

from modeling_scratch import ScratchEncoderForSequenceClassification, presets
from modeling_scratch.serving import server as serve_room
from modeling_scratch.tasks.answerer import Answerer
from modeling_scratch.tasks.classifier_answers import Classification
from tokenization import special_token_ids, train_wordlevel_tokenizer

PATIENCE = 60  # seconds, in which everything here happens on the slowest machine


@dataclass
class HeldTask(Classification):
    """A task whose model waits at a gate; `working` says that a batch has come to it, `batches` their sizes."""

    gate: Event = field(default_factory=Event)
    working: Event = field(default_factory=Event)
    batches: list[int] = field(default_factory=list)

    def run(self, jobs: Any) -> list[Any]:
        self.batches.append(len(jobs))
        self.working.set()
        assert self.gate.wait(PATIENCE)
        return super().run(jobs)


@contextmanager
def holding(task: Answerer) -> Iterator[HeldTask]:
    """The task, its model waiting until the gate is set."""
    held = HeldTask(task.pipe, task.limits, task.defaults)
    yield held
    held.gate.set()


class ThreadServer(uvicorn.Server):
    """As serve.py runs it, but for the signals, which belong to the main thread."""

    def __init__(self, task: Answerer, arguments: serve_room.ServeArguments) -> None:
        config = serve_room.configuration(task, arguments)
        config.timeout_graceful_shutdown = 1
        super().__init__(config)
        self.listening = Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextmanager
def served(task: Answerer, **limits: Any) -> Iterator[httpx.Client]:
    """A client of a server of this task; limits: options that are not the defaults of the program."""
    arguments = serve_room.ServeArguments(model="", **limits)
    with serve_room.open_socket("127.0.0.1", 0) as listener:
        server = ThreadServer(task, arguments)
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        assert server.listening.wait(PATIENCE)
        with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=PATIENCE) as client:
            yield client
        server.should_exit = True
        thread.join(PATIENCE)


@contextmanager
def server_process(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """The process, once it listens, and its URL."""
    program = [sys.executable, str(serve.__file__), "--model", str(folder), "--port", "0", *options]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line.startswith("listening at http://127.0.0.1:"), line
            yield process, line.split()[-1]
        finally:
            process.kill()


def wait_until(happened: Callable[[], bool]) -> None:
    """For what can only be asked for; asks again until it is so."""
    deadline = monotonic() + PATIENCE
    while not happened():
        assert monotonic() < deadline, "it never happened"


def waiting(client: httpx.Client) -> int:
    """The texts in the queue of a server."""
    return client.get("/health").json()["waiting"]


def save_classifier(
    folder: Path,
    model_class: Any = ScratchEncoderForSequenceClassification,
    tokenizer: Any = None,
    labels: Sequence[str] = ("bad", "middling", "good"),
    **fields: Any,
) -> Path:
    """A tiny model, by default with a tokenizer that cuts texts at POSITIONS."""
    tokenizer = tokenizer or train_wordlevel_tokenizer(
        writers.WORDS, len(writers.WORDS) + 5, model_max_length=writers.POSITIONS, show_progress=False
    )
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = presets.tutorial(vocab_size=len(tokenizer), **sizes, **special_token_ids(tokenizer), **fields)
    config.id2label = dict(enumerate(labels))
    return writers.save(folder, redraw(model_class(config), std=0.5, biases=False), tokenizer)
