# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What tokenize.js needs to tokenise a new text in the page: the tokenizer's file, without its vocabulary.

The page has the vocabulary already. Whether the page knows each part of the file, tokenize.js says.
"""

import json
from typing import Any

from .subjects import Encoded, Subject
from .tokens import reads_special
from .weights import MOST_WEIGHTS

LISTED = "normalizers", "pretokenizers"  # of sequences


def tokenizer_rules(subject: Subject, encoded: Encoded) -> dict[str, Any] | None:
    """Return the rules of a fast tokenizer; None for a slow one, and where the page cannot compute with new tokens.

    encoded: any text or pair, whose special tokens give the template. merges: token ids, left and right in turn.
    """
    count = sum(parameter.numel() for parameter in subject.model.parameters())
    if not subject.tokenizer.is_fast or count > MOST_WEIGHTS:
        return None
    parts = json.loads(subject.tokenizer.backend_tokenizer.to_str())
    vocabulary, merges = parts["model"].pop("vocab"), parts["model"].pop("merges", [])
    added = parts["added_tokens"]
    own = set(vocabulary) if isinstance(vocabulary, dict) else set()
    return {
        "normalizer": _flat(parts["normalizer"]),
        "pre_tokenizer": _flat(parts["pre_tokenizer"]),
        "model": parts["model"],
        "merges": [vocabulary[symbol] for merge in merges for symbol in _pair(merge)],
        "outside": [each["id"] for each in added if each["content"] not in own],
        "special": [each for each in added if each["special"]] if reads_special(subject) else [],
        "added": [each["content"] for each in added if not each["special"]],
        "template": _template(encoded),
        "limit": subject.limit,
    }


def _flat(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a normalizer or pre-tokenizer, those of sequences in their place."""
    if part is None:
        return []
    steps = next((part[name] for name in LISTED if name in part), None) if part["type"] == "Sequence" else None
    return [part] if steps is None else [step for each in steps for step in _flat(each)]


def _pair(merge: Any) -> list[str]:
    return merge.split(" ") if isinstance(merge, str) else merge


def _template(encoded: Encoded) -> list[dict[str, int]]:
    """Ids of added tokens, and "part" in place of a text, in order, each with its token type."""
    template: list[dict[str, int]] = []
    types = encoded.types or [0] * len(encoded.ids)
    for token, is_added, part, kind in zip(encoded.ids, encoded.special, encoded.parts, types):
        entry = {"id": token, "type": kind} if is_added else {"part": part, "type": kind}
        if is_added or entry not in template:
            template.append(entry)
    return template
