# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The Starlette application of one task: routes, limits and request validation."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ..inference.batches import Job
from ..tasks.answerer import Answerer
from ..utils.options import option
from .batches import Batcher, QueueFullError
from .connections import LOOPBACK, KnownHosts
from .interface import Body, Endpoint, openapi, record

CLIENT_HAS_GONE = 499  # a status that nobody receives
SHORT = 2_000  # characters; shorter inputs tokenise faster than a thread starts


@dataclass
class Limits:
    """Limits of requests and of the queue."""

    max_batch_tokens: int = option(4096, "The maximum number of tokens per batch, with padding.")
    max_waiting: int = option(1024, "The maximum number of queued texts; further requests get status 503.")
    max_texts: int = option(64, "The maximum number of texts per request.")
    max_characters: int = option(
        100_000, "The maximum length of a text; tokens beyond the model's limit are truncated."
    )
    max_body_bytes: int = option(1_000_000, "The maximum size of a request body.")
    timeout: float = option(30.0, "The time limit of a request in seconds, also at shutdown.")


class Service:
    """The endpoints, with a shared batcher and limits."""

    def __init__(self, answerer: Answerer, limits: Limits) -> None:
        self.answerer, self.limits = answerer, limits
        self.body = Body(answerer.inputs(limits.max_texts, limits.max_characters), answerer.options)
        self.document = openapi(self.endpoints())
        self.batcher = Batcher(answerer.run, limits.max_batch_tokens, limits.max_waiting)

    async def answer(self, request: Request) -> Response:
        limits, deadline = self.limits, time.monotonic() + self.limits.timeout
        try:
            content = await read_json(request, limits.max_body_bytes, limits.timeout)
            if fault := self.body.fault(content):
                raise HTTPException(422, fault)
            inputs = content.pop("inputs")
            texts = inputs if isinstance(inputs, list) else [inputs]
            jobs = await self._encode(texts, content)
            answers = iter(await self._answers([job for job in jobs if job], deadline))
        except ClientDisconnect:
            return Response(status_code=CLIENT_HAS_GONE)
        found = [next(answers) if job else self.answerer.no_answer for job in jobs]
        each = {
            "truncated": [job is not None and job.truncated for job in jobs],
            **self.answerer.added(jobs, found, content),
        }
        if not isinstance(inputs, list):
            each = {name: values[0] for name, values in each.items()}
        return JSONResponse({"outputs": self.answerer.shape(found, isinstance(inputs, list), content), **each})

    async def _encode(self, texts: list[Any], options: dict[str, Any]) -> list[Job | None]:
        try:
            if len(str(texts)) <= SHORT:
                return self.answerer.encode(texts, options)
            return await asyncio.to_thread(self.answerer.encode, texts, options)
        except ValueError as error:
            raise HTTPException(422, f"inputs: {error}") from error

    async def _answers(self, jobs: list[Job], deadline: float) -> list[Any]:
        """Wait for the answers until the deadline; then cancel the remaining jobs."""
        try:
            self.batcher.submit(jobs)
        except QueueFullError:
            raise HTTPException(503, "the queue is full: try again", {"Retry-After": "1"}) from None
        answers = asyncio.gather(*(asyncio.wrap_future(job.answer) for job in jobs), return_exceptions=True)
        seconds = max(deadline - time.monotonic(), 0)
        try:
            results = await asyncio.wait_for(answers, seconds)
        except asyncio.TimeoutError:
            raise HTTPException(504, f"no answer within {self.limits.timeout:g} seconds") from None
        if error := next((result for result in results if isinstance(result, BaseException)), None):
            raise HTTPException(500, f"the model fails on this text: {error}")
        return results

    async def refuse(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            return JSONResponse({"error": "internal error; see the server's log"}, 500)
        detail = f"no {request.url.path}: use POST /{self.answerer.name}" if error.status_code == 404 else error.detail
        return JSONResponse({"error": detail}, error.status_code, error.headers)

    async def health(self, request: Request) -> Response:
        status = "ok" if self.batcher.is_alive else "stopping"
        state = {"status": status, "route": f"/{self.answerer.name}", "waiting": self.batcher.depth}
        return JSONResponse(state, 200 if self.batcher.is_alive else 503)

    async def show_document(self, request: Request) -> Response:
        return JSONResponse(self.document)

    def endpoints(self) -> list[Endpoint]:
        """Return the routes of the server: those of its application, and of its document."""
        answerer, kinds = self.answerer, {"route": {"type": "string"}, "waiting": {"type": "integer"}}
        state = record({"status": {"enum": ["ok", "stopping"]}, **kinds})
        stopping = {503: ("The server is stopping.", state)}
        return [
            Endpoint(f"/{answerer.name}", self.answer, answerer.summary, answerer.answers, body=self.body),
            Endpoint("/health", self.health, "Whether it accepts requests, and how many texts wait.", state, stopping),
            Endpoint(
                "/openapi.json", self.show_document, "This interface, as an OpenAPI document.", {"type": "object"}
            ),
        ]

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.batcher.close(self.limits.timeout)


def build_app(answerer: Answerer, limits: Limits, hosts: tuple[str, ...] = LOOPBACK) -> ASGIApp:
    """hosts: the names that requests may address the server by."""
    service = Service(answerer, limits)
    routes = [
        *(Route(each.path, each.handler, methods=[each.method]) for each in service.endpoints()),
        Route("/", lambda request: RedirectResponse("openapi.json")),
    ]
    handlers: Any = {HTTPException: service.refuse, Exception: service.refuse}
    known = [Middleware(KnownHosts, hosts=hosts)]
    return Starlette(routes=routes, middleware=known, exception_handlers=handlers, lifespan=service.lifespan)


async def read_json(request: Request, max_bytes: int, seconds: float) -> Any:
    """Read a JSON body within size and time limits. Raises `HTTPException`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"Content-Type {kind or 'is missing'}: must be application/json")
    try:
        body = await asyncio.wait_for(_read_body(request, max_bytes), seconds)
    except asyncio.TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {seconds:g} seconds") from None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not valid JSON: {error}") from None


async def _read_body(request: Request, max_bytes: int) -> bytes:
    """Read the body and count its bytes, as Content-Length may be missing or wrong."""
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
