# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""R-Drop: the loss of two draws of dropout, and its gradients over accumulated batches."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import redraw
from model_cases import tiny
from torch import nn
from transformers import TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput

from modeling_scratch import ScratchEncoderForSequenceClassification
from modeling_scratch.training.consistency import ConsistentDropout

ROWS = [{"input_ids": [5, 6, 7], "attention_mask": [1, 1, 1], "label": number % 2} for number in range(8)]


class Arguments(TrainingArguments):
    r_drop = 3.0
    flat_batches = None


class Alternating(nn.Module):
    """A model whose first and second half of a batch differ, as by two draws of dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.tensor([[1.0, -0.5], [0.2, 0.4]]))
        self.config = type("Config", (), {"problem_type": None, "num_labels": 2})()

    def forward(self, input_ids: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        logits = self.scores.repeat_interleave(len(input_ids) // 2, 0)
        loss = F.cross_entropy(logits, labels, reduction="sum") / (num_items_in_batch or len(labels))
        return SequenceClassifierOutput(loss, logits)


def trainer(folder: Path, model: Any, **options: Any) -> ConsistentDropout:
    settings = {"max_steps": 1, "save_strategy": "no", "report_to": [], "use_cpu": True, "disable_tqdm": True}
    return ConsistentDropout(model, Arguments(str(folder), **{**settings, **options}), train_dataset=ROWS)


def test_the_loss_is_that_of_both_draws_plus_their_divergence(tmp_path: Path) -> None:
    model = Alternating().train()
    inputs = {"input_ids": torch.zeros(3, 4, dtype=torch.long), "labels": torch.tensor([0, 1, 1])}
    found = trainer(tmp_path, model).compute_loss(model, inputs)
    p, q = model.scores.softmax(-1)
    cross_entropy = -(p[inputs["labels"]].log().mean() + q[inputs["labels"]].log().mean()) / 2
    divergence = (p * (p / q).log()).sum() + (q * (q / p).log()).sum()
    torch.testing.assert_close(found, cross_entropy + 3 / 4 * divergence)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_without_dropout_it_is_the_plain_loss(tmp_path: Path, dropout: float) -> None:
    model = redraw(ScratchEncoderForSequenceClassification(tiny(hidden_dropout=dropout))).train()
    made = trainer(tmp_path, model)
    inputs = {"input_ids": torch.tensor([[5, 6, 7], [8, 9, 5]]), "labels": torch.tensor([0, 1])}
    torch.manual_seed(0)
    found = made.compute_loss(model, dict(inputs)).item()
    plain = model(**inputs).loss.item()
    assert (abs(found - plain) < 1e-5) == (dropout == 0)


def test_accumulated_batches_have_the_gradients_of_one(tmp_path: Path) -> None:
    whole = redraw(ScratchEncoderForSequenceClassification(tiny(hidden_dropout=0.0)))
    parts = deepcopy(whole)
    options = {"learning_rate": 1e-2, "optim": "sgd", "max_grad_norm": 0}
    trainer(tmp_path, whole, per_device_train_batch_size=8, **options).train()
    trainer(tmp_path, parts, per_device_train_batch_size=2, gradient_accumulation_steps=4, **options).train()
    for one, other in zip(whole.parameters(), parts.parameters()):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)
