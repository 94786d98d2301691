# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The ways in which people serve a folder, where its own code is all there is of this package."""

from pathlib import Path
from typing import Any

import pytest
import torch
from fresh_process import run_fresh
from model_cases import ENCODER, SEQ2SEQ_LM, SPANS, TEXTS, Case
from toy_text import REVIEWS, toy_tokenizer
from transformers import pipeline

pytestmark = pytest.mark.slow  # test_every_auto_class.py loads folders in the same way

REVIEW_TEXTS = [text for text, _ in REVIEWS]
SERVE = """
def served(where, folder, task, inputs):
    return transformers.pipeline(task, model=folder, trust_remote_code=True)(**inputs)

def embedded(where, folder, texts):
    from sentence_transformers import SentenceTransformer
    return SentenceTransformer(folder, device="cpu", trust_remote_code=True).encode(texts).tolist()
"""
SERVED: dict[str, tuple[Case, dict[str, Any]]] = {
    "sentiment-analysis": (TEXTS, {"inputs": REVIEW_TEXTS}),
    "extractive-question-answering": (SPANS, {"question": "good film ?", "context": "a good film from Paris"}),
    "seq2seq-translation": (SEQ2SEQ_LM, {"inputs": REVIEW_TEXTS, "max_new_tokens": 8, "do_sample": False}),
}


@pytest.mark.parametrize("task", SERVED)
def test_pipelines_answer_as_they_do_here(task: str, tmp_path: Path) -> None:
    case, inputs = SERVED[task]
    serve: Any = pipeline(task, model=case.model(), tokenizer=toy_tokenizer())
    serve.save_pretrained(tmp_path)
    found, expected = *run_fresh(SERVE, [("there", "served", str(tmp_path), task, inputs)]), serve(**inputs)
    for answer, wanted in zip(*(each if isinstance(each, list) else [each] for each in (found, expected)), strict=True):
        assert answer.pop("score", 0) == pytest.approx(wanted.pop("score", 0), rel=1e-4)
        assert answer == wanted


def test_sentence_transformers_take_an_encoder_as_it_is(tmp_path: Path) -> None:
    """The mean over the real tokens, as it pools where a folder says nothing else."""
    model, tokenizer = ENCODER.model(classifier_pooling="mean"), toy_tokenizer()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    batch = tokenizer(REVIEW_TEXTS, padding=True, return_tensors="pt")
    states, mask = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
    (found,) = run_fresh(SERVE, [("there", "embedded", str(tmp_path), REVIEW_TEXTS)])
    torch.testing.assert_close(torch.tensor(found), (states * mask).sum(1) / mask.sum(1), atol=1e-5, rtol=0)
