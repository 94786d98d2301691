# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A pipeline that sorts texts by length: the answers of the library's own, in the same order, in less time."""

import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from model_cases import TEXTS as CLASSIFIER
from model_cases import assert_same_answers
from transformers import TextClassificationPipeline, pipeline

from modeling_scratch.fast.text_classification import CPU_TOKENS, SortingTextClassificationPipeline, batches_by_length
from tokenization import train_wordlevel_tokenizer

WORDS = [f"word{number}" for number in range(40)]
DRAW = random.Random(0)
TEXTS = [" ".join(DRAW.choices(WORDS, k=DRAW.choice([1, 3, 8, 20]))) for _ in range(75)]
TOKENIZER = train_wordlevel_tokenizer(TEXTS, 60, model_max_length=16, show_progress=False)


def make_pipeline(pipeline_class: Any = None, **settings: Any) -> Any:
    """By default the one that `pipeline` makes where nobody says more: the library's own."""
    ids = {"vocab_size": len(TOKENIZER), "max_position_embeddings": 16}
    model, task = CLASSIFIER.model(**{**ids, **settings}), "sentiment-analysis"
    return pipeline(task, model=model, tokenizer=TOKENIZER, device="cpu", pipeline_class=pipeline_class)


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        ({}, {}),
        ({}, {"top_k": None}),
        ({}, {"function_to_apply": "sigmoid"}),
        ({"num_labels": 1}, {"top_k": 2}),
        ({"problem_type": "regression"}, {}),
        ({"problem_type": "multi_label_classification"}, {}),
        ({}, {"return_overflowing_tokens": True, "max_length": 8, "padding": "max_length"}),
        ({}, {"text_pair": "word1 word2"}),
    ],
    ids=str,
)
def test_answers_are_those_of_the_library(settings: dict, arguments: dict) -> None:
    ours, library = (make_pipeline(each, **settings) for each in (SortingTextClassificationPipeline, None))
    assert (type(ours), type(library)) == (SortingTextClassificationPipeline, TextClassificationPipeline)
    options = {"truncation": True, **arguments, "batch_size": 4}
    assert_same_answers(ours(TEXTS[:10], **options), library(TEXTS[:10], **options))


def test_texts_are_read_longest_first_in_batches_of_equal_room() -> None:
    classify, shapes = make_pipeline(SortingTextClassificationPipeline), []
    classify.model.register_forward_pre_hook(
        lambda module, args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    classify(TEXTS, batch_size=8, truncation=True)
    assert [length for _, length in shapes] == sorted((length for _, length in shapes), reverse=True)
    assert sum(rows for rows, _ in shapes) == len(TEXTS)
    room = 8 * shapes[0][1]
    assert all(rows == room // length for rows, length in shapes[:-1])


@pytest.mark.parametrize("device", ["cpu", "cuda"])  # to ask what they would get
@given(st.lists(st.integers(0, 40) | st.integers(0, 5000), max_size=80), st.sampled_from([1, 4, 64]))
def test_batches_hold_every_text_once(device: str, lengths: list[int], batch_size: int) -> None:
    batches = list(batches_by_length(lengths, batch_size, torch.device(device)))
    order = [place for places in batches for place in places]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[place] for place in order] == sorted(lengths, reverse=True)
    for places in batches:
        filled = sum(lengths[place] > 0 for place in places)
        assert filled * lengths[places[0]] <= batch_size * max(lengths)
        if device == "cpu":
            assert filled <= 1 or filled * lengths[places[0]] <= CPU_TOKENS
        else:
            assert filled <= batch_size
