# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The routes of the server, as a Starlette application for one task, and the requests that it accepts."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .batches import Batcher, Job, QueueFullError
from .metrics import Metrics
from .tasks import TASKS, Task

CLIENT_HAS_GONE = 499  # no client sees it; it is counted
SHORT = 2_000  # characters that are turned into tokens faster than a thread would be woken to do it


@dataclass
class Limits:
    """Of a request, and of what waits."""

    max_texts: int
    max_characters: int
    max_body_bytes: int
    max_batch_tokens: int
    max_waiting: int
    timeout: float


class Service:
    """The endpoints: they share a batcher, metrics and limits."""

    def __init__(self, task: Task, limits: Limits) -> None:
        self.task, self.limits = task, limits
        self.metrics = Metrics()
        self.batcher = Batcher(self._run, limits.max_batch_tokens, limits.max_waiting)

    def _run(self, jobs: Sequence[Job]) -> list[Any]:
        answers = self.task.run(jobs)
        self.metrics.count_batch(len(jobs), sum(len(job.features["input_ids"]) for job in jobs))
        return answers

    async def answer(self, request: Request) -> Response:
        limits, deadline = self.limits, time.monotonic() + self.limits.timeout
        try:
            content = await read_json(request, limits.max_body_bytes, limits.timeout)
            wanted = parse_request(content, self.task.limits, limits.max_texts, limits.max_characters)
            jobs = await self._encode(wanted.texts, wanted.options)
            answers = await self._answers(jobs, request, deadline)
        except ClientDisconnect:
            return Response(status_code=CLIENT_HAS_GONE)
        truncated = [job.truncated for job in jobs]
        outputs = self.task.shape(answers, wanted.is_list, wanted.options)
        return JSONResponse({"outputs": outputs, "truncated": truncated if wanted.is_list else truncated[0]})

    async def _encode(self, texts: list[str], options: dict[str, int]) -> list[Job]:
        try:
            if sum(map(len, texts)) <= SHORT:
                return self.task.encode(texts, options)
            return await asyncio.to_thread(self.task.encode, texts, options)
        except ValueError as error:
            raise HTTPException(422, f"inputs: {error}") from error

    async def _answers(self, jobs: list[Job], request: Request, deadline: float) -> list[Any]:
        """Waits for the model, no longer than the deadline and the client; what nobody waits for is not computed."""
        try:
            self.batcher.submit(jobs)
        except QueueFullError:
            raise HTTPException(503, "too many texts wait already: try again", {"Retry-After": "1"}) from None
        answers: asyncio.Future = asyncio.gather(*(asyncio.wrap_future(job.answer) for job in jobs))
        gone: asyncio.Future = asyncio.ensure_future(request.receive())  # the body is read: nothing else can come
        try:
            seconds = max(deadline - time.monotonic(), 0)
            await asyncio.wait({answers, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not answers.done() and gone.done():
                raise ClientDisconnect
            if not answers.done():
                raise HTTPException(504, f"there was no answer within {self.limits.timeout:g} seconds")
            if error := answers.exception():
                raise HTTPException(500, f"the model fails on this text: {error}")
            return answers.result()
        finally:
            gone.cancel()
            answers.cancel()
            for job in jobs:
                job.answer.cancel()

    async def other_task(self, request: Request) -> Response:
        raise HTTPException(404, f"this model does not {request.url.path[1:]}: it answers POST /{self.task.name}")

    async def health(self, request: Request) -> Response:
        state = {"status": "ok" if self.batcher.is_alive else "stopping", "route": f"/{self.task.name}"}
        return JSONResponse(state, 200 if self.batcher.is_alive else 503)

    async def show_metrics(self, request: Request) -> Response:
        return PlainTextResponse(self.metrics.text(self.batcher.depth), media_type="text/plain; version=0.0.4")

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.batcher.close(self.limits.timeout)


def build_app(task: Task, limits: Limits) -> ASGIApp:
    service = Service(task, limits)
    routes = [
        Route("/health", service.health),
        Route("/metrics", service.show_metrics),
        Route(f"/{task.name}", service.answer, methods=["POST"]),
        *(Route(f"/{name}", service.other_task, methods=["GET", "POST"]) for name in TASKS if name != task.name),
    ]
    handlers: Any = {HTTPException: say_what_is_wrong, Exception: say_what_is_wrong}
    return Counted(Starlette(routes=routes, exception_handlers=handlers, lifespan=service.lifespan), service.metrics)


async def say_what_is_wrong(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    return JSONResponse({"error": "the server failed on this request; its log says how"}, 500)


class Counted:
    """Passes requests on, and counts them by route and status; every path that is no route is one to it."""

    def __init__(self, app: Starlette, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics
        self.paths = {route.path for route in app.routes if isinstance(route, Route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.monotonic(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            route = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.count_request(route, status, time.monotonic() - start)


@dataclass
class TextRequest:
    """{"inputs": "a text" or ["several", "texts"], an option of the task: a number}."""

    texts: list[str]
    is_list: bool
    options: dict[str, int] = field(default_factory=dict)


async def read_json(request: Request, max_bytes: int, seconds: float) -> Any:
    """The body of a request, which may be neither too long nor too slow; raises `HTTPException`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"Content-Type {kind or 'is missing'}: send application/json")
    try:
        body = await asyncio.wait_for(_read(request, max_bytes), seconds)
    except asyncio.TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {seconds:g} seconds") from None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is no JSON: {error}") from None


async def _read(request: Request, max_bytes: int) -> bytes:
    """Counted while it comes: a length that is announced may be missing, or wrong."""
    too_long = HTTPException(413, f"the body is longer than {max_bytes:,} bytes: send fewer or shorter texts")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise too_long
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > max_bytes:
            raise too_long
    return bytes(body)


def parse_request(content: Any, limits: dict[str, int], max_texts: int, max_characters: int) -> TextRequest:
    """limits: the options of the task, each a number from 1 to this one. Raises `HTTPException` 422."""
    if not isinstance(content, dict) or "inputs" not in content:
        raise _refusal('the body has to be an object with "inputs": a text, or a list of texts')
    inputs = content.pop("inputs")
    texts = inputs if isinstance(inputs, list) else [inputs]
    if not 1 <= len(texts) <= max_texts:
        raise _refusal(f"inputs: {len(texts):,} texts, and a request can have 1 to {max_texts:,}")
    for number, text in enumerate(texts, 1):
        _check_text(text, number, max_characters)
    for name, value in content.items():
        if name not in limits:
            raise _refusal(f"{name[:40]}: there is no such option; the options are {', '.join(limits)}")
        if type(value) is not int or not 1 <= value <= limits[name]:
            raise _refusal(f"{name}: has to be a whole number from 1 to {limits[name]:,}")
    return TextRequest(texts, isinstance(inputs, list), content)


def _check_text(text: Any, number: int, max_characters: int) -> None:
    if not isinstance(text, str):
        raise _refusal(f"inputs, text {number}: has to be a string, and is {json.dumps(text)[:40]}")
    if len(text) > max_characters:
        raise _refusal(f"inputs, text {number}: {len(text):,} characters, and at most {max_characters:,} are read")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _refusal(f"inputs, text {number}: has half of a surrogate pair, which is no character")


def _refusal(message: str) -> HTTPException:
    return HTTPException(422, message)
