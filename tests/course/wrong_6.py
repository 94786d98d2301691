# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 6: exercise, answer, a part of the hint."""

import re
from typing import Any

from scipy.stats import binomtest

SWITCHES: dict[str, Any] = {
    "norm_position": "post", "position_type": "learned", "hidden_act": "gelu", "embedding_norm": True,
    "type_vocab_size": 2,
}  # fmt: skip


def by_prefix(name: str, rows: list[tuple[str, str]]) -> Any:
    module, _, kind = name.rpartition(".")
    for theirs, ours in rows:
        if re.sub(r"\d+", "{}", module) == theirs:
            return f"{ours}.{kind}"
    return None


def of_one_digit(name: str, rows: list[tuple[str, str]]) -> Any:
    module, _, kind = name.rpartition(".")
    layer = re.search(r"\.(\d)\.", module)
    number = layer[1] if layer else ""
    return next((f"{ours.format(number)}.{kind}" for theirs, ours in rows if theirs.format(number) == module), None)


def without_kind(name: str, rows: list[tuple[str, str]]) -> Any:
    number = "".join(re.findall(r"\d+", name))
    return next(ours.format(number) for theirs, ours in rows if name.startswith(theirs.format(number) + "."))


def of_texts(texts: list[str], tokenizer: Any) -> float:
    ids = tokenizer(texts)["input_ids"]
    return sum(tokenizer.unk_token_id in text for text in ids) / len(texts)


def with_special_tokens(texts: list[str], tokenizer: Any) -> float:
    ids = [token for text in texts for token in tokenizer(text)["input_ids"]]
    return ids.count(tokenizer.unk_token_id) / len(ids)


def number_of_unknown(texts: list[str], tokenizer: Any) -> int:
    return sum(text.count(tokenizer.unk_token_id) for text in tokenizer(texts)["input_ids"])


def only(first: list[bool], second: list[bool]) -> int:
    return sum(a and not b for a, b in zip(first, second))


WRONG: list[tuple[str, Any, str]] = [
    ("bert_switches", {**SWITCHES, "norm_position": "pre"}, "after the sum"),
    ("bert_switches", {**SWITCHES, "hidden_act": "relu"}, "GELU"),
    ("bert_switches", {name: value for name, value in SWITCHES.items() if value != 2}, "type_vocab_size is missing"),
    ("our_name", by_prefix, "`{}` is left over"),
    ("our_name", of_one_digit, "two digits are lost"),
    ("our_name", without_kind, "weight or bias is lost"),
    ("split_c_attn", lambda weight: weight.chunk(3, -1), "not transposed"),
    ("split_c_attn", lambda weight: weight.reshape(3, *2 * [len(weight)]).unbind(), "reshaped, not transposed"),
    ("split_c_attn", lambda weight: weight.t().unflatten(0, (-1, 3)).unbind(1), "are interleaved"),
    ("parity", lambda ours, theirs, mask: (ours - theirs).abs().amax(), "padding counts"),
    ("parity", lambda ours, theirs, mask: ((ours - theirs) * mask[..., None]).max(), "take abs()"),
    ("parity", lambda ours, theirs, mask: (ours - theirs).abs()[mask == 1].mean(), "hides one wrong token"),
    ("parity", lambda ours, theirs, mask: (ours - theirs).abs()[mask == 0].max(), "the wrong way round"),
    ("unknown_share", with_special_tokens, "[CLS] and [SEP] count"),
    ("unknown_share", of_texts, "share of texts"),
    ("unknown_share", number_of_unknown, "divide by the number of all"),
    ("p_value", lambda a, b: binomtest(only(a, b), len(a)).pvalue, "the number of tosses"),
    ("p_value", lambda a, b: binomtest(only(a, b), only(a, b) + only(b, a), alternative="greater").pvalue, "one-sided"),
    ("p_value", lambda a, b: only(a, b) / (only(a, b) + only(b, a)), "not the probability"),
]
