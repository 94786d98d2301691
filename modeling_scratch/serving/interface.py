# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The HTTP interface as tables: the server checks requests against them and makes its OpenAPI document from them."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import modeling_scratch

from ..tasks.requests import AnyOption, Inputs, record

JSON, HTML, TEXT = "application/json", "text/html", "text/plain"
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
# The page loads nothing, from no host.
PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}"
    "pre{background:#f4f4f4;padding:.8em;overflow-x:auto}"
)


FAULT = record({"error": {"type": "string"}})


@dataclass(frozen=True)
class Body:
    """The body of a request: its texts and its options."""

    inputs: Inputs
    options: Mapping[str, AnyOption]

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
        fields: dict[str, Inputs | AnyOption] = {"inputs": self.inputs, **self.options}
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
    media_type: str = JSON
    body: Body | None = None
    others: Mapping[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return "POST" if self.body else "GET"

    def operation(self) -> dict[str, Any]:
        """Return the route as in an OpenAPI document."""
        answer = {"description": "The answer.", "content": {self.media_type: {"schema": self.answer}}}
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


def page(document: Mapping[str, Any], base: str) -> str:
    """Return an OpenAPI document as HTML, without scripts. base: the URL of the server, for the examples."""
    title = f"{document['info']['title']} {document['info']['version']}"
    parts = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>']
    parts += [f"<style>{STYLE}</style><h1>{escape(title)}</h1>"]
    parts += ['<p>The same as a document for programs: <a href="openapi.json">openapi.json</a></p>']
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts += [f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"]
            if "requestBody" in operation:
                parts += _body(operation["requestBody"]["content"][JSON], f"{base.rstrip('/')}{path}")
            rows = [(status, each["description"]) for status, each in operation["responses"].items()]
            parts += ["<h3>Responses</h3>", _table(("status", "meaning"), rows), _answer(operation["responses"]["200"])]
    return "\n".join(parts) + "\n"


def _body(content: Mapping[str, Any], url: str) -> list[str]:
    rows = []
    for name, schema in content["schema"]["properties"].items():
        values = {key: value for key, value in schema.items() if key != "description"}
        rows.append((name, schema["description"], json.dumps(values)))
    commands = ""
    for example in content["examples"].values():
        data = shlex.quote(json.dumps(example["value"]))
        commands += f'curl -s {shlex.quote(url)} -H "Content-Type: {JSON}" -d {data}\n'
    return ["<h3>Request</h3>", _table(("field", "meaning", "values"), rows), f"<pre>{escape(commands)}</pre>"]


def _answer(response: Mapping[str, Any]) -> str:
    ((media_type, content),) = response["content"].items()
    return f"<p>The answer is {escape(media_type)}:</p><pre>{escape(json.dumps(content['schema'], indent=2))}</pre>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["".join(f"<th>{escape(head)}</th>" for head in heads)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
