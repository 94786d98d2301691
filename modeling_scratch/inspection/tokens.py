# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How a tokenizer got from a text to its tokens: normalisation, the pieces that it was cut into, and their tokens.

What the tokenizer's model does to a piece, such as its merges, the page replays by the tokenizer's file. With the same
rules it tokenises new texts, if tokenize.js has each part of the file.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from tokenization.training import HTML_TAG, WITH_APOSTROPHES

from ..data.text_pairs import of_parts, parts_of
from .subjects import MASKED, Encoded, Subject, Word

LISTED = "normalizers", "pretokenizers"  # of sequences
# What tokenize.js has, by the names of the tokenizers library: the parts of the tokenizers that this package trains.
COMPUTED = {
    "normalizer": {"NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase"},
    "pre_tokenizer": {"Whitespace", "WhitespaceSplit", "ByteLevel", "Split"},
    "model": {"BPE", "WordLevel"},
}
SPLITS = {WITH_APOSTROPHES, HTML_TAG, r"[\s\S]"}


@dataclass
class Piece:
    """A piece of the pre-tokenised text and its tokens. is_special: a special token that the text spells out."""

    text: str
    tokens: list[str]
    is_special: bool = False


@dataclass
class Tokens:
    """The tokens of a text; see `Encoded`. word_list: where its words stand.

    parts: of a pair, the texts, and types: the token type ids; None for a single text.
    """

    tokens: list[str]
    ids: list[int]
    special: list[bool]
    word_list: list[Word] = field(default_factory=list)
    normalized: str | None = None
    pieces: list[Piece] | None = None
    parts: list[str] | None = None
    types: list[int] | None = None


def tokens_of(subject: Subject) -> Tokens:
    """Return a text's tokens and how they came about; without pieces where these have other tokens, which is noted."""
    tokenizer, encoded = subject.tokenizer, subject.text
    names = [str(each) for each in tokenizer.convert_ids_to_tokens(encoded.ids)]
    found = Tokens(names, encoded.ids, encoded.special, encoded.words)
    parts = parts_of(encoded.text)
    if len(parts) > 1:
        found.parts, found.types = list(parts), encoded.types
    if not tokenizer.is_fast:
        subject.notes.append("the tokenizer is a slow one, which tells neither its steps nor positions in the text")
        return found
    backend = tokenizer.backend_tokenizer
    normalize = backend.normalizer.normalize_str if backend.normalizer else str
    found.normalized = str(of_parts([normalize(part) for part in parts]))
    pieces = [piece for part in parts for piece in pieces_of(tokenizer, part, reads_special(subject))]
    found.pieces = _read(pieces, found)
    if found.pieces is None:
        subject.notes.append("the steps of the tokenizer are left out: a replay of its file gives other tokens")
    return found


def target_tokens(subject: Subject) -> Tokens:
    """Return the tokens that the decoder of an encoder-decoder reads."""
    tokenizer, ids = subject.target_tokenizer, subject.decoder_ids
    special = set(tokenizer.all_special_ids)
    return Tokens(list(map(str, tokenizer.convert_ids_to_tokens(ids))), ids, [each in special for each in ids])


def pieces_of(tokenizer: Any, text: str, keeps_special: bool = False) -> Iterator[Piece]:
    """Yield the pieces of a text and their tokens, without added special tokens.

    keeps_special: special tokens that the text spells out are tokens.
    """
    backend = tokenizer.backend_tokenizer
    for part in filter(None, _cut(tokenizer, text) if keeps_special else [text]):
        if keeps_special and part.strip() in tokenizer.all_special_tokens:
            yield Piece(part.strip(), [part.strip()], is_special=True)
            continue
        normalized = backend.normalizer.normalize_str(part) if backend.normalizer else part
        split = backend.pre_tokenizer.pre_tokenize_str(normalized) if backend.pre_tokenizer else [(normalized, None)]
        for piece, _ in split:
            yield Piece(piece, [token.value for token in backend.model.tokenize(piece)])


def _cut(tokenizer: Any, text: str) -> list[str]:
    """The text, cut at special tokens, which take the white space along that they strip."""
    special = [each for each in tokenizer.added_tokens_decoder.values() if each.special]
    space = r"\s*"
    forms = [space * each.lstrip + re.escape(each.content) + space * each.rstrip for each in special]
    return re.split(f"({'|'.join(sorted(forms, key=len, reverse=True))})", text)


def reads_special(subject: Subject) -> bool:
    """Return whether special tokens that a text spells out are tokens."""
    return subject.task == MASKED or not subject.tokenizer.split_special_tokens


def _read(pieces: list[Piece], found: Tokens) -> list[Piece] | None:
    """The pieces up to where the text is truncated; None where tokens differ."""
    names = [name for name, added in zip(found.tokens, found.special) if not added]
    tokens = [token for piece in pieces for token in piece.tokens]
    starts = accumulate((len(piece.tokens) for piece in pieces), initial=0)
    is_same = tokens[: len(names)] == names
    return [piece for piece, start in zip(pieces, starts) if start < len(names)] if is_same else None


def described_tokenizer(tokenizer: Any, target: Any) -> dict[str, Any]:
    """Return kind and vocabulary of a tokenizer, and the vocabulary of a second one."""
    own = {"vocab_size": len(tokenizer), "vocabulary": _vocabulary(tokenizer), "mask": tokenizer.mask_token_id}
    others = {} if target is tokenizer else {"target_vocabulary": _vocabulary(target)}
    if not tokenizer.is_fast:
        return {"kind": None, **own, **others}
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    return {
        "kind": parts["model"].get("type"),
        "normalizer": ", ".join(step["type"] for step in _flat(parts["normalizer"])),
        "pre_tokenizer": ", ".join(step["type"] for step in _flat(parts["pre_tokenizer"])),
        **own,
        **others,
    }


def _vocabulary(tokenizer: Any) -> list[str | None]:
    return [None if each is None else str(each) for each in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]


def tokenizer_rules(subject: Subject, encoded: Encoded) -> dict[str, Any] | None:
    """Return the file of a fast tokenizer without its vocabulary; None for a slow one.

    encoded: any text or pair, whose special tokens give the template. merges: token ids, left and right in turn;
    missing: the first part that tokenize.js does not have, by its name.
    """
    if not subject.tokenizer.is_fast:
        return None
    parts = json.loads(subject.tokenizer.backend_tokenizer.to_str())
    vocabulary, merges = parts["model"].pop("vocab"), parts["model"].pop("merges", [])
    added, special = parts["added_tokens"], reads_special(subject)
    own = set(vocabulary) if isinstance(vocabulary, dict) else set()
    rules = {
        "normalizer": _flat(parts["normalizer"]),
        "pre_tokenizer": _flat(parts["pre_tokenizer"]),
        "model": parts["model"],
        "merges": [vocabulary[symbol] for merge in merges for symbol in _pair(merge)],
        "outside": [each["id"] for each in added if each["content"] not in own],
        "special": [each for each in added if each["special"] and special],
        "template": _template(encoded),
        "limit": subject.limit,
    }
    lacking = [*_unknown_steps(rules), *(each["content"] for each in added if not each["special"]), *_odd(rules)]
    return {**rules, "missing": next(iter(lacking), None)}


def _unknown_steps(rules: dict[str, Any]) -> Iterator[str]:
    for name, known in COMPUTED.items():
        steps = [rules[name]] if name == "model" else rules[name]
        yield from (step["type"] for step in steps if step["type"] not in known)
    for step in rules["pre_tokenizer"]:
        is_known = step.get("pattern", {}).get("Regex") in SPLITS
        if step["type"] == "Split" and not (is_known and step["behavior"] in ("Removed", "Isolated")):
            yield "Split"


def _odd(rules: dict[str, Any]) -> Iterator[str]:
    """Special tokens that are not found as they are written, and a template without a text."""
    yield from (each["content"] for each in rules["special"] if each["single_word"] or each["normalized"])
    if not any("part" in entry for entry in rules["template"]):
        yield "template"


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
