# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The HTTP interface as tables: the server checks requests against them and makes its OpenAPI document from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import modeling_scratch

from ..tasks.requests import Inputs, Option, record

JSON = "application/json"
FORBIDDEN = 403  # the only documented error of a GET request
ERRORS = {
    400: "The body is not JSON.",
    FORBIDDEN: "Host or Origin names a host that the server does not accept.",
    408: "The body did not arrive in time.",
    413: "The body is too long.",
    415: "The Content-Type is not application/json.",
    422: "A field of the request is invalid. The message names it.",
    500: "The model fails on a text.",
    503: "Too many texts are waiting. Try again.",
    504: "There is no answer within the time limit.",
}

FAULT = record({"error": {"type": "string"}})


@dataclass(frozen=True)
class Body:
    """The body of a request: its texts and its options."""

    inputs: Inputs
    options: Mapping[str, Option]

    def fault(self, content: object) -> str | None:
        """Return what is wrong with a request, or None."""
        if not isinstance(content, dict) or "inputs" not in content:
            return 'the body must be an object with "inputs": a text or a list of texts'
        if fault := self.inputs.fault(content["inputs"]):
            return fault
        for name, value in content.items():
            if name != "inputs" and name not in self.options:
                return f"{name[:40]}: unknown option; the options are {', '.join(self.options) or 'none'}"
            if name != "inputs" and (fault := self.options[name].fault(value)):
                return f"{name}: {fault}"
        return None

    def schema(self) -> dict[str, Any]:
        fields: dict[str, Inputs | Option] = {"inputs": self.inputs, **self.options}
        schemas = {name: field.schema() for name, field in fields.items()}
        return {**record(schemas), "required": ["inputs"], "additionalProperties": False}

    def examples(self) -> dict[str, Any]:
        one, several = self.inputs.examples()
        options = {name: option.example for name, option in self.options.items()}
        examples = {"a text": {"value": {"inputs": one}}, "several texts": {"value": {"inputs": several}}}
        return examples | ({"all options": {"value": {"inputs": several, **options}}} if options else {})


@dataclass(frozen=True)
class Endpoint:
    """A route. answer: the JSON schema of what it returns with status 200. body: of a POST, whose errors are `ERRORS`.

    others: the meanings and schemas of further statuses.
    """

    path: str
    handler: Callable[..., Any]
    summary: str
    answer: dict[str, Any]
    others: Mapping[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    body: Body | None = None

    @property
    def method(self) -> str:
        return "POST" if self.body else "GET"

    def operation(self) -> dict[str, Any]:
        """Return the route as in an OpenAPI document."""
        answer = {"description": "The answer.", "content": {JSON: {"schema": self.answer}}}
        errors = {status: (told, FAULT) for status, told in ERRORS.items() if self.body or status == FORBIDDEN}
        responses = {
            str(status): {"description": told, "content": {JSON: {"schema": schema}}}
            for status, (told, schema) in sorted({**errors, **self.others}.items())
        }
        operation: dict[str, Any] = {"summary": self.summary, "responses": {"200": answer, **responses}}
        if self.body:
            content = {"schema": self.body.schema(), "examples": self.body.examples()}
            operation["requestBody"] = {"required": True, "content": {JSON: content}}
        return operation


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the routes."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "modeling-scratch serve", "version": modeling_scratch.__version__},
        "paths": {each.path: {each.method.lower(): each.operation()} for each in endpoints},
    }
