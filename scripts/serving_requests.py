# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a client may send: JSON of a limited size, with texts and options within their limits, or a clear refusal."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request


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
