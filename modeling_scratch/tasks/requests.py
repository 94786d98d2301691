# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The texts and the options of a request, and schemas of its answer, as tables that requests are checked against."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]  # in JSON
EXAMPLES = ("Loved it.", "Dull.")  # texts of the requests in the document


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def one_or_several(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value: one for a single text, a list of them for a list of texts."""
    return {"anyOf": [schema, array(schema)]}


def record(fields: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object with these fields and perhaps some others."""
    return {"type": "object", "properties": {**fields, **(optional or {})}, "required": [*fields]}


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
class Inputs:
    """The texts in a request: one, or a list."""

    max_texts: int
    max_characters: int
    told: str = "A text, or a list of texts."

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

    def one(self) -> Schema:
        """Return the schema of a text."""
        return {"type": "string", "maxLength": self.max_characters}

    def schema(self) -> Schema:
        several = {**array(self.one()), "minItems": 1, "maxItems": self.max_texts}
        return {"anyOf": [self.one(), several], "description": self.told}

    def examples(self) -> list[Any]:
        texts = [text[: self.max_characters] for text in EXAMPLES[: self.max_texts]]
        return [texts[0], texts]


@dataclass(frozen=True)
class Pairs(Inputs):
    """The pairs of texts in a request, objects with these names: one, or a list."""

    names: Sequence[str] = ()
    texts: Sequence[str] = ()  # of the example

    def fault_of(self, text: object) -> str | None:
        if not isinstance(text, dict) or text.keys() != set(self.names):
            return f"must be an object with {' and '.join(self.names)}, not {json.dumps(text)[:40]}"
        faults = ((name, super(Pairs, self).fault_of(text[name])) for name in self.names)
        return next((f"{name}: {fault}" for name, fault in faults if fault), None)

    def one(self) -> Schema:
        pair = record(dict.fromkeys(self.names, super().one()))
        return {**pair, "additionalProperties": False}

    def examples(self) -> list[Any]:
        pair = {name: text[: self.max_characters] for name, text in zip(self.names, self.texts)}
        return [pair, [pair]]
