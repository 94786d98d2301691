# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The loss of an evaluation is a mean over its labels, whatever the batches."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from transformers import TrainingArguments, default_data_collator

from modeling_scratch import ScratchEncoderConfig
from modeling_scratch.modeling_encoder import (
    ScratchEncoderForQuestionAnswering,
    ScratchEncoderForSequenceClassification,
    ScratchEncoderForTokenClassification,
)
from modeling_scratch.run.losses import WeightedCrossEntropy
from modeling_scratch.run.trainer import RunTrainer

ROWS, TOKENS, CLASSES = 7, 6, 3
WEIGHTS = torch.tensor([0.2, 1.0, 5.0])


def labels_of(kind: str) -> dict[str, torch.Tensor]:
    if kind == "tag":  # a row has 1 to 5 labels, and one has none
        labels = torch.randint(CLASSES, (ROWS, TOKENS))
        return {"labels": labels.masked_fill(torch.arange(TOKENS) >= torch.tensor([[1, 5, 2, 0, 4, 1, 3]]).T, -100)}
    if kind == "answer":
        spans = torch.randint(TOKENS, (ROWS,)).masked_fill(torch.arange(ROWS) % 3 == 0, -100)
        return {"start_positions": spans, "end_positions": spans}
    return {"labels": torch.randint(CLASSES, (ROWS,))}


def expected_loss(kind: str, outputs: Any, labels: dict[str, torch.Tensor]) -> torch.Tensor:
    if kind == "answer":
        pairs = zip((outputs.start_logits, outputs.end_logits), labels.values())
        return torch.stack([F.cross_entropy(*pair) for pair in pairs]).mean()
    logits, given = outputs.logits.flatten(0, -2), labels["labels"].flatten()
    weights, reduction = (WEIGHTS, "none") if kind == "weighted" else (None, "mean")
    return F.cross_entropy(logits, given, weights, reduction=reduction).mean()


MODELS = {
    "tag": ScratchEncoderForTokenClassification,
    "answer": ScratchEncoderForQuestionAnswering,
    "weighted": ScratchEncoderForSequenceClassification,
    "classify": ScratchEncoderForSequenceClassification,
}


@pytest.mark.parametrize("batch", [1, 2, 64])
@pytest.mark.parametrize("kind", MODELS)
def test_it_does_not_depend_on_the_batches(kind: str, batch: int, tmp_path: Path) -> None:
    torch.manual_seed(3)
    config = ScratchEncoderConfig(
        vocab_size=20, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_labels=CLASSES, problem_type="single_label_classification", initializer_range=1.0,
    )  # fmt: skip
    model, ids, labels = MODELS[kind](config).eval(), torch.randint(20, (ROWS, TOKENS)), labels_of(kind)
    features = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **labels}
    trainer = RunTrainer(
        model,
        TrainingArguments(str(tmp_path), per_device_eval_batch_size=batch, report_to=[], use_cpu=True),
        data_collator=default_data_collator,
        eval_dataset=[{name: value[row] for name, value in features.items()} for row in range(ROWS)],
        compute_metrics=lambda _: {},
        compute_loss_func=WeightedCrossEntropy(WEIGHTS) if kind == "weighted" else None,
    )
    with torch.no_grad():
        expected = expected_loss(kind, model(input_ids=ids), labels).item()
    assert trainer.evaluate()["eval_loss"] == pytest.approx(expected, rel=1e-5)
    assert trainer.predict(trainer.eval_dataset).metrics["test_loss"] == pytest.approx(expected, rel=1e-5)
