# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every pipeline that an encoder serves, from the object and from its folder, one text or many."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import ENCODER, MASKED_LM, TEXTS, TOKENS, Case, library_messages
from toy_text import REVIEWS, toy_tokenizer
from transformers import Pipeline, pipeline

REVIEW_TEXTS = [text for text, _ in REVIEWS]
MASKED_TEXTS = ["a [MASK] film", "[MASK]", "the film is slow , [MASK] and long", "what a [MASK] good film by Anna Berg"]


def named(*labels: str) -> dict[str, Any]:
    """The labels of a config, in their order."""
    return {
        "num_labels": len(labels), "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
    }  # fmt: skip


SENTIMENT = named("NEGATIVE", "POSITIVE")
ENTAILMENT = named("contradiction", "entailment")
ENTITIES = named("O", "B-PER", "I-PER", "B-LOC", "I-LOC")

# task: class, settings of its config, texts, arguments of the call
TASKS: dict[str, tuple[Case, dict, list[str], dict]] = {
    "text-classification": (TEXTS, SENTIMENT, REVIEW_TEXTS, {"top_k": None}),
    "token-classification": (TOKENS, ENTITIES, REVIEW_TEXTS, {"ignore_labels": []}),
    "ner": (TOKENS, ENTITIES, REVIEW_TEXTS, {"aggregation_strategy": "simple"}),
    "fill-mask": (MASKED_LM, {}, MASKED_TEXTS, {"top_k": 3}),
    "feature-extraction": (ENCODER, {}, REVIEW_TEXTS, {}),
    "zero-shot-classification": (
        TEXTS,
        ENTAILMENT,
        REVIEW_TEXTS,
        {"candidate_labels": ["good", "moving", "slow film"]},
    ),
}


def serve(task: str, folder: Path | None = None, **settings: Any) -> Pipeline:
    """The pipeline of a task, made without a warning: a class that is not registered is warned about."""
    case, config, *_ = TASKS[task]
    model, tokenizer = case.model(**{**config, **settings}), toy_tokenizer()
    arguments: dict[str, Any] = {"model": model, "tokenizer": tokenizer}
    if folder is not None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        arguments = {"model": str(folder)}
    with library_messages() as messages, warnings.catch_warnings():
        warnings.simplefilter("error")
        made = pipeline(task, **arguments, device="cpu")
    assert not [message for message in messages if "support" in message]
    assert type(made.model) is case.model_class
    return made


def assert_same_answers(left: Any, right: Any) -> None:
    """Nested lists and dictionaries of the same texts and, to rounding, numbers."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_same_answers(left[key], right[key])
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right):
            assert_same_answers(one, other)
    elif isinstance(left, str | int | None):
        assert left == right
    else:
        assert float(left) == pytest.approx(float(right), abs=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_many_texts_at_once_get_the_answers_of_one_by_one(task: str, tmp_path: Path) -> None:
    """Of a folder: texts of different lengths, in batches of three, padded, and packed where that saves work."""
    _, _, texts, arguments = TASKS[task]
    served = serve(task, tmp_path)
    together, alone = list(served(texts, batch_size=3, **arguments)), [served(text, **arguments) for text in texts]
    if task == "feature-extraction":
        together = [[rows[0][: len(own[0])]] for rows, own in zip(together, alone)]  # those of padding come along
        states = served.model(**toy_tokenizer()(texts[0], return_tensors="pt")).last_hidden_state
        torch.testing.assert_close(torch.tensor(alone[0]), states, atol=1e-6, rtol=0)
    assert_same_answers(together, alone)


def test_scores_are_those_of_the_problem_type() -> None:
    """Probabilities of one label, a sigmoid for each of several, or the number itself."""
    for labels, problem_type, read in (
        ("abc", "single_label_classification", lambda logits: logits.softmax(-1)),
        ("abc", "multi_label_classification", torch.sigmoid),
        (["stars"], "regression", lambda logits: logits),
    ):
        served = serve("text-classification", **named(*labels), problem_type=problem_type)
        for text in REVIEW_TEXTS[:3]:
            logits = served.model(**toy_tokenizer()(text, return_tensors="pt")).logits[0]
            scores = {answer["label"]: answer["score"] for answer in served(text, top_k=None)}
            assert scores == pytest.approx(dict(zip(labels, read(logits).tolist())), abs=1e-5)


def test_long_texts_are_refused_with_a_reason_or_cut_when_asked() -> None:
    served, text = serve("text-classification", position_type="learned"), " good" * 100
    with pytest.raises(ValueError, match="max_position_embeddings"):
        served(text)
    assert served(text, truncation=True)
