# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The application of one task: its routes, types and limits, and the way of a request to its answer."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model
from starlette import exceptions
from starlette.middleware import Middleware

import modeling_scratch

from ..inference.arguments import UNKNOWN_WORDS
from ..tasks.answerer import Answerer
from ..utils.options import option
from .batches import Batcher
from .connections import LOOPBACK, KnownHosts


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


class LimitedRequest(Request):
    """A request whose body has to be JSON, and is read within limits."""

    async def body(self) -> bytes:
        if hasattr(self, "_body"):  # the base class keeps it there
            return self._body
        limits: Limits = self.app.state.limits
        self.state.deadline = time.monotonic() + limits.timeout
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, f"Content-Type {kind or 'is missing'}: must be application/json")
        try:
            self._body = await asyncio.wait_for(self._read(limits.max_body_bytes), limits.timeout)
        except asyncio.TimeoutError:
            raise HTTPException(408, f"the body did not arrive within {limits.timeout:g} seconds") from None
        return self._body

    async def json(self) -> Any:
        try:
            return await super().json()
        except UnicodeDecodeError as error:
            fault = f"the body is not {error.encoding.upper()}: byte {error.start + 1:,} is invalid"
            raise HTTPException(400, fault) from error

    async def _read(self, max_bytes: int) -> bytes:
        body = bytearray()
        async for piece in self.stream():
            body += piece
            if len(body) > max_bytes:
                raise HTTPException(413, f"the body is longer than {max_bytes:,} bytes: send fewer or shorter texts")
        return bytes(body)


class LimitedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()

        async def limited(request: Request) -> Response:
            return await handle(LimitedRequest(request.scope, request.receive))

        return limited


class Service:
    """The queue in front of a model, and the way of a request through it."""

    def __init__(self, answerer: Answerer, limits: Limits) -> None:
        self.answerer, self.limits = answerer, limits
        self.encoding = asyncio.Lock()  # a call of a tokenizer changes how the tokenizer truncates
        self.batcher = Batcher(answerer.run, limits.max_batch_tokens, limits.max_waiting)

    async def answer(self, inputs: Any, options: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Return the response to the texts of a request. What has no answer by the deadline is cancelled."""
        is_list = isinstance(inputs, list)
        try:
            async with self.encoding:
                texts = inputs if is_list else [inputs]
                jobs = await asyncio.to_thread(self.answerer.encode, texts, options)
        except ValueError as error:
            raise HTTPException(422, f"inputs: {error}") from error
        seconds = max(deadline - time.monotonic(), 0)
        try:
            answers = iter(await asyncio.wait_for(self.batcher.answer([job for job in jobs if job]), seconds))
        except asyncio.TimeoutError:
            raise HTTPException(504, f"no answer within {self.limits.timeout:g} seconds") from None
        found = [next(answers) if job else None for job in jobs]
        return self.answerer.response(jobs, found, options, is_list)


# Types of requests, answers and errors, from what a task reads and answers

STRICT = ConfigDict(extra="forbid", strict=True)
ERRORS = {
    400: "The body is not JSON.",
    403: "Host or Origin names a host that the server does not accept.",
    408: "The body did not arrive in time.",
    413: "The body is too long.",
    415: "The Content-Type is not application/json.",
    422: "A field of the request is invalid. The message names it.",
    500: "The model fails on a text.",
    503: "Too many texts are waiting. Try again.",
    504: "There is no answer within the time limit.",
}


class Fault(BaseModel):
    error: str


class Health(BaseModel):
    status: Literal["ok"]
    route: str
    waiting: int


def request_type(answerer: Answerer, max_texts: int, max_characters: int) -> Any:
    """Return the type of a request: a text or a list of texts, or of objects with several each, and its options."""
    text: Any = Annotated[str, Field(max_length=max_characters)]
    if len(answerer.fields) > 1:
        parts: Any = dict.fromkeys(answerer.fields, (text, ...))
        text = create_model("Texts", __config__=STRICT, **parts)
    several: Any = Annotated[list[text], Field(min_length=1, max_length=max_texts)]
    # Tags, so that only the kind that was meant is checked, and named in a fault.
    either: Any = Annotated[text, Tag("one")] | Annotated[several, Tag("several")]
    inputs = Annotated[either, Discriminator(lambda value: "several" if isinstance(value, list) else "one")]
    fields: Any = {"inputs": (inputs, Field(description=answerer.asks))}
    for name, each in answerer.options.items():
        number: Any = Annotated[each.kind, Field(ge=each.low, le=each.high)]
        fields[name] = number | Literal[each.words] if each.words else number, Field(None, description=each.told)
    return create_model("Request", __config__=STRICT, **fields)


def answer_type(answerer: Answerer) -> Any:
    """Return the type of an answer: what the pipeline returns to one text or to several, and further fields."""
    added = {name: kind for name, (_, kind) in answerer.added.items()}
    kinds = {"outputs": answerer.answers, "truncated": bool, **added}
    fields: Any = {name: (kind | list[kind], ...) for name, kind in kinds.items()}  # type: ignore[valid-type]
    told = "The words of each text that the model has not seen, if there are any."
    fields[UNKNOWN_WORDS] = list[str] | list[list[str]], Field([], description=told)
    return create_model("Answer", **fields)


def fault_of(errors: Sequence[Any], fields: Sequence[str]) -> str:
    """Return what is wrong with a request, in one line that names the field. fields: those of a text."""
    field, *place = errors[0]["loc"][1:] or ["the body"]  # behind "body"
    numbered = (f"text {part + 1}" if isinstance(part, int) else part for part in place)
    where = ", ".join([field, *(name for name in numbered if name in fields or name.startswith("text "))])
    if errors[0]["type"] == "model_attributes_type":
        return f"{where}: must be an object with {' and '.join(fields if place else ['inputs'])}"
    told = dict.fromkeys(each["msg"] for each in errors if each["loc"][:2] == errors[0]["loc"][:2])
    return f"{where}: {' or '.join(told)}"


async def refuse(request: Request, error: Exception) -> Response:
    """Return the response to an error: its fault in one line."""
    answerer: Answerer = request.app.state.answerer
    if isinstance(error, RequestValidationError):
        first, *_ = faults = error.errors()
        if first["type"] == "json_invalid":
            return JSONResponse({"error": f"the body is not JSON: {first['ctx']['error']}"}, 400)
        return JSONResponse({"error": fault_of(faults, answerer.fields)}, 422)
    if not isinstance(error, exceptions.HTTPException):
        return JSONResponse({"error": "internal error; see the server's log"}, 500)
    detail = f"no {request.url.path}: use POST /{answerer.name}" if error.status_code == 404 else error.detail
    return JSONResponse({"error": detail}, error.status_code, error.headers)


def build_app(answerer: Answerer, limits: Limits, hosts: tuple[str, ...] = LOOPBACK) -> FastAPI:
    """hosts: the names that requests may address the server by."""
    service, route = Service(answerer, limits), f"/{answerer.name}"
    content_type = request_type(answerer, limits.max_texts, limits.max_characters)

    async def answer(content: content_type, request: Request) -> Response:  # type: ignore[valid-type]
        options = content.model_dump(exclude_unset=True)  # type: ignore[attr-defined]
        return JSONResponse(await service.answer(options.pop("inputs"), options, request.state.deadline))

    async def health() -> Health:
        return Health(status="ok", route=route, waiting=service.batcher.depth)

    known = [Middleware(KnownHosts, hosts=hosts)]
    handlers: Any = dict.fromkeys((exceptions.HTTPException, RequestValidationError, Exception), refuse)
    about: Any = {"title": "modeling-scratch serve", "version": modeling_scratch.__version__}
    about |= {"docs_url": None, "redoc_url": None}  # pages that load their code from other hosts
    app = FastAPI(**about, middleware=known, exception_handlers=handlers)
    app.state.limits, app.state.answerer, app.router.route_class = limits, answerer, LimitedRoute
    errors: Any = {status: {"description": told, "model": Fault} for status, told in ERRORS.items()}
    responses = {200: {"model": answer_type(answerer)}, **errors}
    app.post(route, summary=answerer.summary, responses=responses, response_model=None)(answer)
    app.get("/health", summary="Whether it accepts requests, and how many texts wait.")(health)
    return app
