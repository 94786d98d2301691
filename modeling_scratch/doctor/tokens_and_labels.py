# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of the tokenizer and of the names that go with a model."""

import re
from typing import Any

from .findings import check, only_if, require
from .subject import CLASSIFIES, TAGS, TOKENIZER, Subject

LONGEST = 10_000_000  # as the model_max_length of a tokenizer that has none is 1e30


@check("Set tokenizer.pad_token, and the ids of the config from the tokenizer, in one place.", link="2210")
def special_tokens(subject: Subject) -> None:
    """There is a padding token, and config and tokenizer name the same special tokens."""
    needs_id = subject.head == "classify" and subject.is_causal
    has_id = getattr(subject.config, "pad_token_id", None) is not None
    require(has_id or not needs_id, "config.pad_token_id is None: the classifier cannot take several texts.")
    only_if(subject.tokenizer is not None, "No tokenizer was given.")
    require(subject.tokenizer.pad_token is not None, "The tokenizer has no pad_token: batches of texts fail.")
    for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
        ids = getattr(subject.config, name, None), getattr(subject.tokenizer, name, None)
        expected = ids[0] if isinstance(ids[0], list) else [ids[0]]
        what = f"{name} is {ids[0]} in the config and {ids[1]} in the tokenizer."
        require(None in ids or ids[1] in expected, what)
    table: Any = subject.model.get_input_embeddings()
    largest, size = max(subject.tokenizer.get_vocab().values()), len(table.weight)
    require(largest < size, f"The tokenizer has the id {largest}, and the model {size} embeddings.")


@check("Set tokenizer.model_max_length to config.max_position_embeddings.", TOKENIZER)
def finite_length(subject: Subject) -> None:
    """The tokenizer truncates to what the model reads."""
    found = subject.tokenizer.model_max_length
    require(found < LONGEST, f"model_max_length is {found:.3g}: truncation=True truncates nothing.")
    limit = getattr(subject.text_config, "max_position_embeddings", None)
    require(limit is None or found <= limit, f"model_max_length is {found}, but the model has {limit} positions.")


@check("Set config.id2label and config.label2id from the data.", CLASSIFIES, link="10449")
def label_names(subject: Subject) -> None:
    """The labels have names."""
    names, number = subject.config.id2label, subject.config.num_labels
    require(len(names) == number, f"{len(names)} names for {number} labels.")
    back = {label: index for index, label in names.items()}
    require(subject.config.label2id == back, f"label2id is {subject.config.label2id}, id2label is {names}.")
    only_if(subject.folder is not None, "Names are checked in folders of trained models.")
    unnamed = [name for name in names.values() if re.fullmatch(r"LABEL_\d+", str(name))]
    require(not unnamed or number == 1, f"The labels have no names: {', '.join(unnamed[:3])}.")


@check("Set add_prefix_space=True for byte-level BPE.", TOKENIZER, TAGS)
def words_and_texts(subject: Subject) -> None:
    """Words have the tokens that they have in a text."""
    words = ["Two", "words", "follow"]
    found = subject.tokenizer(words, is_split_into_words=True)["input_ids"]
    wanted = subject.tokenizer(" ".join(words))["input_ids"]
    what = "A text that is split into words has other tokens than the text itself"
    require(found == wanted, f"{what}: {found} and {wanted}.")
