# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of the tokenizer and of the names that go with a model.

Each takes a `Subject` and raises `FallsShort`, or `DoesNotApply`.
"""

import re
from typing import Any

from .findings import only_if, require
from .subject import Subject

NO_TOKENIZER = "No tokenizer was given."
LONGEST = 10_000_000  # as the model_max_length of a tokenizer that has none is 1e30


def finite_length(subject: Subject) -> None:
    only_if(subject.tokenizer is not None, NO_TOKENIZER)
    found = subject.tokenizer.model_max_length
    require(found < LONGEST, f"model_max_length is {found:.3g}: truncation=True truncates nothing.")
    limit = getattr(subject.config.get_text_config(), "max_position_embeddings", None)
    require(limit is None or found <= limit, f"model_max_length is {found}, but the model has {limit} positions.")


def special_tokens(subject: Subject) -> None:
    only_if(subject.tokenizer is not None, NO_TOKENIZER)
    for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
        ids = getattr(subject.config, name, None), getattr(subject.tokenizer, name, None)
        expected = ids[0] if isinstance(ids[0], list) else [ids[0]]
        what = f"{name} is {ids[0]} in the config and {ids[1]} in the tokenizer."
        require(None in ids or ids[1] in expected, what)
    largest = max(subject.tokenizer.get_vocab().values())
    table: Any = subject.model.get_input_embeddings()
    size = len(table.weight)
    require(largest < size, f"The tokenizer has the id {largest}, and the model {size} embeddings.")


def padding_token(subject: Subject) -> None:
    pad = getattr(subject.config, "pad_token_id", None)
    if subject.tokenizer is not None:
        require(subject.tokenizer.pad_token is not None, "The tokenizer has no pad_token: batches of texts fail.")
    needs_one = subject.head == "sequence" and subject.is_causal
    require(pad is not None or not needs_one, "config.pad_token_id is None: the classifier cannot take several texts.")


def label_names(subject: Subject) -> None:
    only_if(subject.head in ("sequence", "token"), "The model has no labels.")
    names = subject.config.id2label
    require(len(names) == subject.config.num_labels, f"{len(names)} names for {subject.config.num_labels} labels.")
    back = {label: index for index, label in names.items()}
    require(subject.config.label2id == back, f"label2id is {subject.config.label2id}, id2label is {names}.")
    only_if(subject.folder is not None, "Names are checked in folders of trained models.")
    unnamed = [name for name in names.values() if re.fullmatch(r"LABEL_\d+", str(name))]
    require(not unnamed or len(names) == 1, f"The labels have no names: {', '.join(unnamed[:3])}.")


def words_and_texts(subject: Subject) -> None:
    only_if(subject.tokenizer is not None, NO_TOKENIZER)
    only_if(subject.head == "token", "The model tags no words.")
    words = ["Two", "words", "follow"]
    found = subject.tokenizer(words, is_split_into_words=True)["input_ids"]
    wanted = subject.tokenizer(" ".join(words))["input_ids"]
    what = "A text that is split into words has other tokens than the text itself"
    require(found == wanted, f"{what}: {found} and {wanted}.")
