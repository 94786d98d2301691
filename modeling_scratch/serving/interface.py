# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The HTTP interface as tables: the server checks requests against them and makes its OpenAPI document from them."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import modeling_scratch

Schema = dict[str, Any]  # in JSON
JSON, HTML, TEXT = "application/json", "text/html", "text/plain"
EXAMPLES = ("Loved it.", "Dull.")  # texts of the requests in the document
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


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def one_or_several(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value: one for a single text, a list of them for a list of texts."""
    return {"anyOf": [schema, array(schema)]}


def record(fields: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object with these fields and perhaps some others."""
    return {"type": "object", "properties": {**fields, **(optional or {})}, "required": [*fields]}


FAULT = record({"error": {"type": "string"}})


@dataclass(frozen=True)
class Option:
    """A number in a request, from `low` to `high`. words: strings that are accepted, too."""

    description: str
    example: float
    low: int
    high: int
    is_whole: bool = True
    words: tuple[str, ...] = ()

    def fault(self, value: object) -> str | None:
        """Return what a value has to be, or None if it is."""
        if type(value) is int or (type(value) is float and not self.is_whole):
            if self.low <= value <= self.high:
                return None
        elif isinstance(value, str) and value in self.words:
            return None
        kind, others = "an integer" if self.is_whole else "a number", "".join(f" or {word!r}" for word in self.words)
        return f"must be {kind} from {self.low:,} to {self.high:,}{others}"

    def schema(self) -> dict[str, Any]:
        kind = "integer" if self.is_whole else "number"
        number: dict[str, Any] = {"type": kind, "minimum": self.low, "maximum": self.high}
        allowed = {"anyOf": [number, {"type": "string", "enum": [*self.words]}]} if self.words else number
        return {**allowed, "description": self.description}


@dataclass(frozen=True)
class Flag:
    """A truth value in a request."""

    description: str
    example: bool = True

    def fault(self, value: object) -> str | None:
        return None if isinstance(value, bool) else "must be true or false"

    def schema(self) -> Schema:
        return {"type": "boolean", "description": self.description}


AnyOption = Option | Flag


@dataclass(frozen=True)
class Inputs:
    """The texts in a request: one, or a list."""

    max_texts: int
    max_characters: int

    def fault(self, inputs: object) -> str | None:
        """Return what is wrong with the texts, or None."""
        texts = inputs if isinstance(inputs, list) else [inputs]
        if not 1 <= len(texts) <= self.max_texts:
            return f"inputs: {len(texts):,} texts; a request must have 1 to {self.max_texts:,}"
        faults = ((number, self.fault_of(text)) for number, text in enumerate(texts, 1))
        return next((f"inputs, text {number}: {fault}" for number, fault in faults if fault), None)

    def fault_of(self, text: object) -> str | None:
        """Return what is wrong with a text, or None."""
        if not isinstance(text, str):
            return f"must be a string, not {json.dumps(text)[:40]}"
        if len(text) > self.max_characters:
            return f"{len(text):,} characters; the maximum is {self.max_characters:,}"
        if any("\ud800" <= character <= "\udfff" for character in text):
            return "contains an unpaired surrogate"
        return None

    def schema(self) -> dict[str, Any]:
        text = {"type": "string", "maxLength": self.max_characters}
        texts = {**array(text), "minItems": 1, "maxItems": self.max_texts}
        return {"anyOf": [text, texts], "description": "A text, or a list of texts."}

    def examples(self) -> list[Any]:
        texts = [text[: self.max_characters] for text in EXAMPLES[: self.max_texts]]
        return [texts[0], texts]

    def characters(self, text: Any) -> int:
        return len(text)


@dataclass(frozen=True)
class Pairs(Inputs):
    """The pairs of texts in a request, objects with these names: one, or a list. told: what they are."""

    names: tuple[str, str]
    told: str
    texts: tuple[str, str]  # of the example

    def fault_of(self, text: object) -> str | None:
        if not isinstance(text, dict) or text.keys() != set(self.names):
            return f"must be an object with {' and '.join(self.names)}, not {json.dumps(text)[:40]}"
        faults = ((name, super(Pairs, self).fault_of(text[name])) for name in self.names)
        return next((f"{name}: {fault}" for name, fault in faults if fault), None)

    def schema(self) -> Schema:
        text = {"type": "string", "maxLength": self.max_characters}
        pair = {**record(dict.fromkeys(self.names, text)), "additionalProperties": False}
        pairs = {**array(pair), "minItems": 1, "maxItems": self.max_texts}
        return {"anyOf": [pair, pairs], "description": self.told}

    def examples(self) -> list[Any]:
        pair = {name: text[: self.max_characters] for name, text in zip(self.names, self.texts)}
        return [pair, [pair]]

    def characters(self, text: Any) -> int:
        return sum(map(len, text.values()))


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
