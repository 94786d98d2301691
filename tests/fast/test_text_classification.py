# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A pipeline that sorts texts by length: the answers of the library's own, in the same order, in less time."""

import random
from typing import Any

import pytest
import torch
from model_cases import TEXTS as CLASSIFIER
from model_cases import assert_same_answers
from transformers import TextClassificationPipeline, pipeline

from modeling_scratch.fast.text_classification import CPU_TOKENS, SortingTextClassificationPipeline, batches_by_length
from tokenization import train_wordlevel_tokenizer

WORDS = [f"word{number}" for number in range(40)]
DRAW = random.Random(0)
TEXTS = [" ".join(DRAW.choices(WORDS, k=DRAW.choice([1, 3, 8, 20]))) for _ in range(75)]
TOKENIZER = train_wordlevel_tokenizer(TEXTS, 60, model_max_length=16, show_progress=False)
QUIET: Any = {"truncation": True}
DEVICES = "cpu", "cuda"  # to ask what they would get


def make(**settings: Any) -> Any:
    return CLASSIFIER.model(**{"vocab_size": len(TOKENIZER), "max_position_embeddings": 16, **settings})


def sorting(model: Any, tokenizer: Any = TOKENIZER) -> Any:
    task: Any = "sentiment-analysis"
    way = SortingTextClassificationPipeline
    return pipeline(task, model=model, tokenizer=tokenizer, device="cpu", pipeline_class=way)


def both(model: Any) -> tuple[Any, Any]:
    """The sorting pipeline, and the one that `pipeline` makes where nobody says more: the library's own."""
    task: Any = "sentiment-analysis"
    return sorting(model), pipeline(task, model=model, tokenizer=TOKENIZER, device="cpu")


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
    ours, library = both(make(**settings))
    assert (type(ours), type(library)) == (SortingTextClassificationPipeline, TextClassificationPipeline)
    options = {**QUIET, **arguments, "batch_size": 4}
    assert_same_answers(ours(TEXTS[:10], **options), library(TEXTS[:10], **options))


def test_texts_are_read_longest_first_in_batches_of_equal_room() -> None:
    classify, shapes = sorting(make()), []
    classify.model.register_forward_pre_hook(
        lambda module, args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    classify(TEXTS, batch_size=8, **QUIET)
    assert [length for _, length in shapes] == sorted((length for _, length in shapes), reverse=True)
    assert sum(rows for rows, _ in shapes) == len(TEXTS)
    room = 8 * shapes[0][1]
    assert all(rows == room // length for rows, length in shapes[:-1])


@pytest.mark.parametrize("lengths", [[], [0, 0], [5], [3, 0, 4096, 7, 7, 1], [100] * 50, list(range(300))], ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_batches_hold_every_text_once(lengths: list[int], device: str) -> None:
    for batch_size in (1, 4, 64):
        batches = list(batches_by_length(lengths, batch_size, torch.device(device)))
        order = [place for places in batches for place in places]
        assert sorted(order) == list(range(len(lengths)))
        assert [lengths[place] for place in order] == sorted(lengths, reverse=True)
        for places in batches:
            needed = len(places) * lengths[places[0]]
            assert needed <= batch_size * max(lengths)
            if device == "cpu":
                assert len(places) == 1 or needed <= CPU_TOKENS
            else:
                assert sum(lengths[place] > 0 for place in places) <= batch_size
