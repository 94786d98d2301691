# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sentence embeddings: Sentence Transformers and SetFit."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from client_pairs import TEXTS, assert_same, client, folders, losses, pair, steps
from datasets import Dataset

BASE = "ScratchEncoderModel"
MODES = pytest.mark.parametrize("pooling", ["mean", "cls", "max"])


def embedders(top: Path, pooling: str = "mean") -> list[Any]:
    """Sentence Transformers on the native model and on ours, which are loaded by name."""
    library = import_module("sentence_transformers")
    parts = import_module("sentence_transformers.models")
    found = []
    for folder in folders(pair("bert", BASE), top):
        words = parts.Transformer(folder)
        pooled = parts.Pooling(words.get_word_embedding_dimension(), pooling)
        found.append(library.SentenceTransformer(modules=[words, pooled], device="cpu"))
    return found


@client("sentence-transformers", "BERT")
@MODES
def test_embeddings(pooling: str, tmp_path: Path) -> None:
    """Embeddings of texts of several lengths, by mean, first token and maximum"""
    theirs, ours = (model.encode(TEXTS, convert_to_tensor=True) for model in embedders(tmp_path, pooling))
    assert_same(ours, theirs)


@client("sentence-transformers", "BERT", needs="accelerate")
def test_training_on_pairs(tmp_path: Path) -> None:
    """SentenceTransformerTrainer with MultipleNegativesRankingLoss: loss of each step, and embeddings after them"""
    library = import_module("sentence_transformers")
    kinds = import_module("sentence_transformers.losses")
    rows = Dataset.from_dict({"anchor": TEXTS, "positive": TEXTS[1:] + TEXTS[:1]})
    found = []
    for model in embedders(tmp_path):
        arguments = library.SentenceTransformerTrainingArguments(**steps(tmp_path / "run"))
        loss = kinds.MultipleNegativesRankingLoss(model)
        trainer = library.SentenceTransformerTrainer(model, args=arguments, train_dataset=rows, loss=loss)
        found.append((losses(trainer), model.encode(TEXTS, convert_to_tensor=True)))
    assert_same(found[1], found[0], atol=5e-4)
