# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hugging Face's Trainer as it is: one step however it is cut. What else it relies on: see test_hf_behaviour.py."""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from model_cases import CAUSAL_LM, DECODER_TEXTS, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS, TOKENS, Case
from toy_text import REVIEWS, toy_tokenizer
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, Trainer, TrainingArguments

from modeling_scratch import fast

Columns = dict[str, Any]


def reviews(case: Case = TEXTS, count: int = len(REVIEWS), **columns: list) -> Dataset:
    """Reviews with labels for this head, and columns that no model takes; columns replaces some."""
    encoded = toy_tokenizer()([text for text, _ in REVIEWS[:count]])
    ids = encoded["input_ids"]
    labels: Columns = {
        MASKED_LM: lambda: {"labels": [[i if i % 3 else -100 for i in row] for row in ids]},
        TEXTS: lambda: {"label": [label for _, label in REVIEWS[:count]]},
        TOKENS: lambda: {"labels": [[-100, *(i % 3 for i in row[1:-1]), -100] for row in ids]},
        DECODER_TEXTS: lambda: {"label": [label for _, label in REVIEWS[:count]]},
        CAUSAL_LM: lambda: {"labels": ids},
        SEQ2SEQ_LM: lambda: {"labels": [[*row[1:], *row[1:3]] for row in ids]},
        SPANS: lambda: {"start_positions": [1] * count, "end_positions": [len(row) - 2 for row in ids]},
    }[case]()
    noise = {"text": [text for text, _ in REVIEWS[:count]], "idx": list(range(count))}
    return Dataset.from_dict({**encoded, **noise, **labels, **columns})


def trainer(model: PreTrainedModel, folder: Path, dataset: Dataset | None = None, **arguments: Any) -> Trainer:
    """One step of plain gradient descent over all of the data, in order, unless the arguments say otherwise."""
    tokenizer = toy_tokenizer()
    # The one collator of the library that pads labels of tokens and of targets where there are some.
    collator = DataCollatorForSeq2Seq(tokenizer, model) if "labels" in (dataset or {}).column_names else None
    settings = {
        "output_dir": str(folder), "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "optim": "sgd",
        "learning_rate": 0.5, "lr_scheduler_type": "constant", "max_steps": 1, "per_device_train_batch_size": 8,
        "max_grad_norm": 0.0, "train_sampling_strategy": "sequential", "logging_steps": 1,
    }  # fmt: skip
    return Trainer(
        model=model, args=TrainingArguments(**{**settings, **arguments}), train_dataset=dataset,
        processing_class=tokenizer, data_collator=collator,
    )  # fmt: skip


STEPS = {
    "texts, the last batch smaller": (TEXTS, 7, {}, {}),
    "masked tokens": (MASKED_LM, 8, {}, {}),
    "spans": (SPANS, 8, {}, {}),
    "next tokens": (CAUSAL_LM, 8, {}, {}),
    "targets": (SEQ2SEQ_LM, 8, {}, {}),
    "several labels": (TEXTS, 7, {"label": [[1.0, 0.0, 1.0]] * 7}, {"problem_type": "multi_label_classification"}),
    "numbers": (TEXTS, 7, {"label": [0.5, -1.0, 2.0, 3.5, 0.0, 1.0, -2.0]}, {"num_labels": 1}),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_same_however_it_is_cut(name: str, tmp_path: Path) -> None:
    """1 x 8 and 4 x 2 texts of different lengths and numbers of labels, the second by the textbook."""
    case, count, columns, settings = STEPS[name]
    models, data = [case.model(**settings) for _ in range(3)], reviews(case, count, **columns)
    trainer(models[0], tmp_path, data).train()
    with fast.disabled():
        trainer(models[1], tmp_path, data, per_device_train_batch_size=2, gradient_accumulation_steps=4).train()
    whole, pairs, start = (model.state_dict() for model in models)
    torch.testing.assert_close(pairs, whole, atol=1e-5, rtol=1e-5)
    assert not all(torch.equal(value, start[key]) for key, value in whole.items())
