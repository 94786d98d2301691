# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load-test a server and compare every answer with that of the pipeline."""

import asyncio
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import httpx
import torch

from ..inference.arguments import PredictArguments
from ..inference.rows import read_input
from ..tasks.answerer import Answerer, OneTextAnswerer
from ..tasks.requests import Pairs
from ..utils.command_line import option
from ..utils.errors import DataError
from .answerers import load_answerer

SCORE_TOLERANCE = 1e-5
DRAWN_TOKENS = 64  # maximum length of random texts


@dataclass
class LoadArguments:
    """The model, the texts and the load."""

    model: str = option(help="A model as for serve: a folder or a name on the Hub.")
    input: str | None = option(default=None, help="A file of texts, as for predict; random texts by default.")
    requests: int = option(default=500, help="The number of requests per mode.")
    seconds: float = option(default=60.0, help="The time limit per mode, after which no more requests are sent.")
    clients: int = option(default=16, help="The number of concurrent requests.")
    max_new_tokens: int = option(default=32, help="The maximum length of a translation.")
    trust_remote_code: bool = option(default=False, help="Allow the checkpoint's own code to run.")

    def __post_init__(self) -> None:
        for name in ("requests", "seconds", "clients", "max_new_tokens"):
            if not getattr(self, name) > 0:
                raise DataError(f"--{name} {getattr(self, name)}: must be above 0")


@dataclass
class Run:
    """The results of one mode, in the order of the texts: seconds and answers, None for lost ones."""

    name: str
    wall: float
    times: list[float]
    answers: list[Any]

    def report(self, expected: Sequence[Any]) -> int:
        """Print a line of results. Return the number of lost or wrong answers."""
        lost = sum(answer is None for answer in self.answers)
        wrong = sum(answer is not None and not is_same(answer, right) for answer, right in zip(self.answers, expected))
        p50, p99 = torch.tensor(self.times).quantile(torch.tensor([0.5, 0.99])).mul(1000).tolist()
        rate = len(self.times) / self.wall
        print(f"{self.name:<30} {len(self.times):>8} {rate:>10.1f} {p50:>9.1f} {p99:>9.1f} {lost:>5} {wrong:>5}")
        return lost + wrong


def is_same(answer: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Compare translations exactly, and label scores within a tolerance and in any order."""
    if "label" not in expected[0]:
        return answer == expected
    scores, right = ({each["label"]: each["score"] for each in labels} for labels in (answer, expected))
    return scores.keys() == right.keys() and all(
        math.isclose(scores[label], right[label], abs_tol=SCORE_TOLERANCE) for label in right
    )


def put_load(arguments: LoadArguments) -> None:
    """Run every mode and print its results. Raises `SystemExit` if an answer is lost or wrong."""
    task = load_answerer(arguments.model, None, arguments.trust_remote_code, max_new_tokens=arguments.max_new_tokens)
    if not isinstance(task, OneTextAnswerer) or isinstance(task.inputs(1, 1), Pairs):
        raise DataError(f"--model {arguments.model}: the load test takes classifiers of single texts and translators")
    texts = list(islice(cycle(read_texts(arguments, task)), arguments.requests))
    options: dict[str, int] = {name: task.limits[name] for name in ("top_k", "max_new_tokens") if name in task.limits}
    print(f"{'':<30} {'requests':>8} {'requests/s':>10} {'p50 ms':>9} {'p99 ms':>9} {'lost':>5} {'wrong':>5}")
    direct = call_pipeline(task, texts, {**task.defaults, **options}, arguments.seconds)
    direct.report(direct.answers)
    texts, faults = texts[: len(direct.answers)], 0
    for name, flags in (("server, a text at a time", ["--max_batch_tokens", "1"]), ("server, batches", [])):
        with running_server(arguments, flags) as url:
            run = asyncio.run(call_server(name, f"{url}/{task.name}", texts, options, arguments))
        faults += run.report(direct.answers)
    if faults:
        sys.exit(f"{faults} answers are lost or wrong")


def read_texts(arguments: LoadArguments, task: Answerer) -> list[str]:
    """Those of the file, or random tokens: as many texts as requests, of every length."""
    if arguments.input is not None:
        source = PredictArguments(model=arguments.model, input=arguments.input)
        if texts := [text for _, text, _ in islice(read_input(source), arguments.requests) if text]:
            return texts
        raise DataError(f"--input {arguments.input}: there are no texts in it")
    tokenizer, generator = task.pipe.tokenizer, torch.Generator().manual_seed(0)
    lengths = torch.randint(
        1, min(DRAWN_TOKENS, tokenizer.model_max_length), (arguments.requests,), generator=generator
    )
    ids = (torch.randint(len(tokenizer), (length,), generator=generator) for length in lengths.tolist())
    return [tokenizer.decode(each, skip_special_tokens=True) or "a" for each in ids]


def call_pipeline(task: Answerer, texts: Sequence[str], options: dict[str, int], seconds: float) -> Run:
    """One text after the other; there are answers to as many as the time suffices for."""
    start = time.perf_counter()
    ends, answers = [], []
    for text in texts:
        answers.append(task.pipe(text, truncation=True, **options))
        ends.append(time.perf_counter())
        if ends[-1] - start > seconds:
            break
    times = [end - begin for begin, end in zip([start, *ends], ends)]
    return Run("pipeline, in this process", ends[-1] - start, times, answers)


@contextmanager
def running_server(arguments: LoadArguments, flags: Sequence[str]) -> Iterator[str]:
    """Start a server and yield its URL. Raises `DataError` if it does not stop cleanly."""
    program = [sys.executable, "-m", "modeling_scratch_cli", "serve", *server_options(arguments), *flags]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise DataError(f"--model {arguments.model}: the server did not start; see its message above")
            yield line.split()[-1]
        finally:
            process.terminate()
    if process.returncode:
        raise DataError(f"the server ended with exit code {process.returncode}")


def server_options(arguments: LoadArguments) -> list[str]:
    """Return the server options for this load test."""
    options = ["--model", arguments.model, "--port", "0", "--max_new_tokens", str(arguments.max_new_tokens)]
    return [*options, *(["--trust_remote_code"] if arguments.trust_remote_code else [])]


async def call_server(
    name: str, url: str, texts: Sequence[str], options: dict[str, int], arguments: LoadArguments
) -> Run:
    """Run the clients, each of which sends its next request after the previous answer."""
    times: dict[int, float] = {}
    answers: dict[int, Any] = {}
    waiting = iter(enumerate(texts))

    async def client(http: httpx.AsyncClient) -> None:
        for number, text in waiting:
            begin = time.perf_counter()
            answers[number] = await ask(http, url, {"inputs": text, **options})
            times[number] = time.perf_counter() - begin
            if time.perf_counter() - start > arguments.seconds:
                return

    async with AsyncExitStack() as stack:
        # One connection per client: a shared pool would make some of them wait.
        clients = [httpx.AsyncClient(timeout=arguments.seconds, verify=False) for _ in range(arguments.clients)]
        for http in clients:
            await stack.enter_async_context(http)
            await http.get(httpx.URL(url).join("/health"))  # connects, before the clock starts
        start = time.perf_counter()
        await asyncio.gather(*map(client, clients))
        wall = time.perf_counter() - start
    return Run(name, wall, [times[number] for number in sorted(times)], [answers[number] for number in sorted(answers)])


async def ask(http: httpx.AsyncClient, url: str, body: dict[str, Any]) -> Any:
    """Send a request; return None if there is no answer. Raises `DataError` if the server rejects it."""
    try:
        response = await http.post(url, json=body)
    except httpx.HTTPError:
        return None
    if response.is_client_error:
        raise DataError(f"the server refuses {str(body)[:80]}: {response.status_code}, {response.text[:200]}")
    return response.json()["outputs"] if response.status_code == httpx.codes.OK else None
