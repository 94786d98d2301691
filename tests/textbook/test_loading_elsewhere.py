# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sentence Transformers read a folder where its own code is all there is; test_space.py has the pipelines."""

from pathlib import Path

import pytest
import torch
from fresh_process import run_fresh
from model_cases import ENCODER
from toy_text import REVIEWS, toy_tokenizer

pytestmark = pytest.mark.slow  # test_every_auto_class.py loads folders in the same way

REVIEW_TEXTS = [text for text, _ in REVIEWS]
SERVE = """
def embedded(where, folder, texts):
    from sentence_transformers import SentenceTransformer
    return SentenceTransformer(folder, device="cpu", trust_remote_code=True).encode(texts).tolist()
"""


def test_sentence_transformers_take_an_encoder_as_it_is(tmp_path: Path) -> None:
    """The mean over the real tokens, as it pools where a folder says nothing else."""
    model, tokenizer = ENCODER.model(classifier_pooling="mean"), toy_tokenizer()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    batch = tokenizer(REVIEW_TEXTS, padding=True, return_tensors="pt")
    states, mask = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
    (found,) = run_fresh(SERVE, [("there", "embedded", str(tmp_path), REVIEW_TEXTS)])
    torch.testing.assert_close(torch.tensor(found), (states * mask).sum(1) / mask.sum(1), atol=1e-5, rtol=0)
