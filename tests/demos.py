# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tiny saved models of every kind that a demo shows, each made once, and their demos."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import writers
from shared import redraw
from toy_text import toy_tokenizer

import modeling_scratch as scratch
from tokenization import special_token_ids

SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 32,
}  # fmt: skip


def save_encoder(folder: Path, model_class: Any, labels: Sequence[str] = ("bad", "good"), **fields: Any) -> Path:
    """With a tokenizer that reads at most 32 tokens."""
    tokenizer = toy_tokenizer()
    config = scratch.presets.tutorial(vocab_size=len(tokenizer), **SIZES, **special_token_ids(tokenizer), **fields)
    config.id2label = dict(enumerate(labels))
    return writers.save(folder, redraw(model_class(config), std=0.7, biases=False), tokenizer)


RUN_OF_PAIRS = {"program": "scripts/train_classifier.py", "data": {"text_column": ["premise", "the_claim"]}}


def save_pair(folder: Path) -> Path:
    """A classifier whose run says that it reads pairs of texts."""
    save_encoder(folder, scratch.ScratchEncoderForSequenceClassification)
    (folder / "run_config.json").write_text(json.dumps(RUN_OF_PAIRS))
    return folder


def save_writer(folder: Path) -> Path:
    tokenizer = writers.characters()
    return writers.save(folder, writers.decoder(tokenizer), tokenizer)


classifier = partial(save_encoder, model_class=scratch.ScratchEncoderForSequenceClassification)
SAVE = {
    "labels": classifier,
    "sets": partial(classifier, labels=("acting", "music", "plot"), problem_type="multi_label_classification"),
    "numbers": partial(classifier, labels=("stars",), problem_type="regression"),
    "pairs": save_pair,
    "tags": partial(
        save_encoder,
        model_class=scratch.ScratchEncoderForTokenClassification,
        labels=("O", "B-PER", "I-PER", "B-LOC"),
    ),
    "masks": partial(save_encoder, model_class=scratch.ScratchEncoderForMaskedLM),
    "questions": partial(save_encoder, model_class=scratch.ScratchEncoderForQuestionAnswering),
    "writer": save_writer,
    "translator": writers.save_translator,
}


@contextmanager
def demo_of(folder: Path, **options: Any) -> Iterator[tuple[str, str | None]]:
    """The local and the public address of a demo. Gradio takes seconds to import: where a test needs it, not before."""
    from modeling_scratch.demo.app import DemoArguments, running

    with running(DemoArguments(model=str(folder), port=0, **options)) as addresses:
        yield addresses
