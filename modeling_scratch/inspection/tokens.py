# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokens of a text, and the tokenizer's rules, by which the page replays how they came about.

With the same rules the page tokenises new texts, if tokenize.js has each part of the tokenizer's file.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from tokenization.training import HTML_TAG, WITH_APOSTROPHES

from ..data.text_pairs import parts_of
from .subjects import MASKED, Encoded, Subject, Word

LISTED = "normalizers", "pretokenizers"  # of sequences
# What tokenize.js has, by the names of the tokenizers library: the parts of the tokenizers that this package trains.
NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase"}
COMPUTED = {*NORMALIZERS, "Whitespace", "WhitespaceSplit", "ByteLevel", "Split", "BPE", "WordLevel"}
PATTERNS = {WITH_APOSTROPHES, HTML_TAG, r"[\s\S]"}  # of Split


@dataclass
class Tokens:
    """The tokens of a text; see `Encoded`. word_list: where its words stand.

    parts: of a pair, the texts, and types: the token type ids; None for a single text.
    """

    tokens: list[str]
    ids: list[int]
    special: list[bool]
    word_list: list[Word] = field(default_factory=list)
    parts: list[str] | None = None
    types: list[int] | None = None


def tokens_of(subject: Subject) -> Tokens:
    """Return a text's tokens."""
    tokenizer, encoded = subject.tokenizer, subject.text
    names = [str(each) for each in tokenizer.convert_ids_to_tokens(encoded.ids)]
    found = Tokens(names, encoded.ids, encoded.special, encoded.words)
    if len(parts := parts_of(encoded.text)) > 1:
        found.parts, found.types = list(parts), encoded.types
    if not tokenizer.is_fast:
        subject.notes.append("the tokenizer is a slow one, which tells neither its steps nor positions in the text")
    return found


def target_tokens(subject: Subject) -> Tokens:
    """Return the tokens that the decoder of an encoder-decoder reads."""
    tokenizer, ids = subject.target_tokenizer, subject.decoder_ids
    special = set(tokenizer.all_special_ids)
    return Tokens(list(map(str, tokenizer.convert_ids_to_tokens(ids))), ids, [each in special for each in ids])


def described_tokenizer(tokenizer: Any, target: Any) -> dict[str, Any]:
    """Return kind and vocabulary of a tokenizer, and the vocabulary of a second one."""
    own = {"vocab_size": len(tokenizer), "vocabulary": _vocabulary(tokenizer), "mask": tokenizer.mask_token_id}
    others = {} if target is tokenizer else {"target_vocabulary": _vocabulary(target)}
    if not tokenizer.is_fast:
        return {"kind": None, **own, **others}
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    steps = {name: ", ".join(step["type"] for step in _flat(parts[name])) for name in ("normalizer", "pre_tokenizer")}
    return {"kind": parts["model"].get("type"), **steps, **own, **others}


def _vocabulary(tokenizer: Any) -> list[str | None]:
    return [None if each is None else str(each) for each in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]


def tokenizer_rules(subject: Subject, encoded: Encoded) -> dict[str, Any] | None:
    """Return the file of a fast tokenizer without its vocabulary; None for a slow one.

    encoded: any text or pair, whose special tokens give the template. merges: token ids, left and right in turn;
    missing: the first part that tokenize.js does not have, or added token that is not found as it is written.
    """
    if not subject.tokenizer.is_fast:
        return None
    parts = json.loads(subject.tokenizer.backend_tokenizer.to_str())
    vocabulary, merges = parts["model"].pop("vocab"), parts["model"].pop("merges", [])
    added, reads_special = parts["added_tokens"], subject.task == MASKED or not subject.tokenizer.split_special_tokens
    own = set(vocabulary) if isinstance(vocabulary, dict) else set()
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    special = [each for each in added if each["special"] and reads_special]
    odd = [each for each in added if not each["special"]] + [e for e in special if e["single_word"] or e["normalized"]]
    steps = [*_flat(parts["normalizer"]), *_flat(parts["pre_tokenizer"]), parts["model"]]
    missing = [step["type"] for step in steps if not _is_computed(step)] + [each["content"] for each in odd]
    template = _template(encoded)
    if not any("part" in entry for entry in template):  # a text of special tokens alone
        missing.append("template")
    return {
        "normalizer": _flat(parts["normalizer"]),
        "pre_tokenizer": _flat(parts["pre_tokenizer"]),
        "model": parts["model"],
        "merges": [vocabulary[symbol] for pair in pairs for symbol in pair],
        "outside": [each["id"] for each in added if each["content"] not in own],
        "special": special,
        "template": template,
        "limit": subject.limit,
        "missing": missing[0] if missing else None,
    }


def _is_computed(step: dict[str, Any]) -> bool:
    if step["type"] == "Split":
        return step["pattern"].get("Regex") in PATTERNS and step["behavior"] in ("Removed", "Isolated")
    return step["type"] in COMPUTED


def _flat(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a normalizer or pre-tokenizer, those of sequences in their place."""
    if part is None:
        return []
    steps = next((part[name] for name in LISTED if name in part), None) if part["type"] == "Sequence" else None
    return [part] if steps is None else [step for each in steps for step in _flat(each)]


def _template(encoded: Encoded) -> list[dict[str, int]]:
    """Ids of added tokens, and "part" in place of a text, in order, each with its token type."""
    template: list[dict[str, int]] = []
    types = encoded.types or [0] * len(encoded.ids)
    for token, is_added, part, kind in zip(encoded.ids, encoded.special, encoded.parts, types):
        entry = {"id": token, "type": kind} if is_added else {"part": part, "type": kind}
        if is_added or entry not in template:
            template.append(entry)
    return template
