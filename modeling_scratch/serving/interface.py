# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The HTTP interface of a model as types, from what its task reads and answers: of requests, answers and errors."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model

from ..inference.arguments import UNKNOWN_WORDS
from ..tasks.answerer import Answerer

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
    for name, option in answerer.options.items():
        number: Any = Annotated[option.kind, Field(ge=option.low, le=option.high)]
        fields[name] = number | Literal[option.words] if option.words else number, Field(None, description=option.told)
    return create_model("Request", __config__=STRICT, **fields)


def answer_type(answerer: Answerer) -> Any:
    """Return the type of an answer: what the pipeline returns to one text or to several, and further fields."""
    kinds = {
        "outputs": answerer.answers,
        "truncated": bool,
        **{name: kind for name, (_, kind) in answerer.added.items()},
    }
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
