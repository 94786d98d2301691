# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The tokens of a text, and the tokenizer's rules, by which the page replays how they came about.

With the same rules the page tokenises new texts, if tokenize.js has each part of the tokenizer's file.
"""

import json
from functools import reduce
from typing import Any

from tokenization.training import HTML_TAG, WITH_APOSTROPHES

from ..inference.seen_words import read_seen_words
from .subjects import MASKED, Subject, Tokens, names_of_tokens

# What tokenize.js has, by the names of the tokenizers library: the parts of the tokenizers that this package trains.
NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase"}
COMPUTED = {*NORMALIZERS, "Whitespace", "WhitespaceSplit", "ByteLevel", "Split", "BPE", "WordLevel"}
PATTERNS = {WITH_APOSTROPHES, HTML_TAG, r"[\s\S]"}  # of Split


def fnv(word: str) -> int:
    """Return the hash FNV-1a of a word, of 32 bits."""
    return reduce(lambda found, byte: (found ^ byte) * 16_777_619 % 2**32, word.encode(), 2_166_136_261)


def described_tokenizer(subject: Subject) -> dict[str, Any]:
    """Return kind, vocabulary and rules of a text's tokenizer, and the vocabulary of a second one."""
    tokenizer, target = subject.tokenizer, subject.target_tokenizer
    found = {"vocab_size": len(tokenizer), "vocabulary": names_of_tokens(tokenizer, range(len(tokenizer)))}
    found |= {} if target is tokenizer else {"target_vocabulary": names_of_tokens(target, range(len(target)))}
    found |= {"mask": tokenizer.mask_token_id, "kind": None, "rules": None}
    # A page is shown to others, who may ask it for a word, but not for all words of the training texts.
    found |= {"seen_words": sorted(map(fnv, read_seen_words(subject.model.name_or_path)))}
    if not tokenizer.is_fast:
        return found
    rules = tokenizer_rules(subject)
    steps = {name: ", ".join(step["type"] for step in rules[name]) for name in ("normalizer", "pre_tokenizer")}
    return {**found, **steps, "kind": rules["model"].get("type"), "rules": rules}


def tokenizer_rules(subject: Subject) -> dict[str, Any]:
    """Return the file of a fast tokenizer without its vocabulary.

    The special tokens of the subject's text give the template. merges: token ids, left and right in turn; missing: the
    first part that tokenize.js does not have, or added token that is not found as it is written.
    """
    parts = json.loads(subject.tokenizer.backend_tokenizer.to_str())
    model, added, template = parts["model"], parts["added_tokens"], _template(subject.text)
    vocabulary, merges = model.pop("vocab"), model.pop("merges", [])
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    reads_special = subject.task == MASKED or not subject.tokenizer.split_special_tokens
    special = [each for each in added if each["special"] and reads_special]
    odd = [each for each in added if not each["special"]] + [e for e in special if e["single_word"] or e["normalized"]]
    rules = {"normalizer": _flat(parts["normalizer"]), "pre_tokenizer": _flat(parts["pre_tokenizer"]), "model": model}
    steps = [*rules["normalizer"], *rules["pre_tokenizer"], model]
    missing = [step["type"] for step in steps if not _is_computed(step)] + [each["content"] for each in odd]
    if not any("part" in entry for entry in template):  # a text of special tokens alone
        missing.append("template")
    return {
        **rules,
        "merges": [vocabulary[symbol] for pair in pairs for symbol in pair],
        "outside": [
            each["id"] for each in added if not (isinstance(vocabulary, dict) and each["content"] in vocabulary)
        ],
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
    if part is None or part["type"] != "Sequence":
        return [part] if part else []
    return [step for name in ("normalizers", "pretokenizers") for each in part.get(name, ()) for step in _flat(each)]


def _template(encoded: Tokens) -> list[dict[str, int]]:
    """Ids of added tokens, and "part" in place of a text, in order, each with its token type."""
    template: list[dict[str, int]] = []
    types = encoded.types or [0] * len(encoded.ids)
    for token, is_added, part, kind in zip(encoded.ids, encoded.special, encoded.sides, types):
        entry = {"id": token, "type": kind} if is_added else {"part": part, "type": kind}
        if is_added or entry not in template:
            template.append(entry)
    return template
