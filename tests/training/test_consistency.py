# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""R-Drop: the loss of two draws of dropout, and its gradients over accumulated batches."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import redraw
from model_cases import TINY, tiny
from torch import nn
from transformers import TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput

from modeling_scratch import (
    ScratchEncoderForSequenceClassification,
    ScratchSeq2SeqConfig,
    ScratchSeq2SeqForConditionalGeneration,
)
from modeling_scratch.training.consistency import ConsistentDropout, Divergence

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_divergence_has_the_value_and_the_gradients_of_its_formula(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    logits = (3 * torch.randn(2, 150, 40)).to(dtype).requires_grad_()
    log_p, log_q = logits.float().log_softmax(-1)
    expected = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()
    found = Divergence.apply(*logits)
    torch.testing.assert_close(found, expected)
    slopes = (torch.autograd.grad(2 * loss, logits)[0] for loss in (found, expected))
    torch.testing.assert_close(*slopes)


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


class Remembering(ScratchSeq2SeqForConditionalGeneration):
    """A translator that keeps the logits of its last training step."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().forward(*args, **kwargs)
        self.seen = outputs.logits
        return outputs


@pytest.mark.parametrize("sparse", [False, True])
def test_tokens_of_a_translation_count_and_padding_does_not(tmp_path: Path, sparse: bool) -> None:
    model = redraw(
        Remembering(
            ScratchSeq2SeqConfig(
                **{**TINY, "hidden_dropout": 0.4, "sparse_prediction": sparse, "decoder_start_token_id": 1}
            )
        )
    ).train()
    labels = torch.tensor([[5, 6, 7, 2], [8, 2, -100, -100]])
    found = trainer(tmp_path, model).compute_loss(model, {"input_ids": labels.clamp(min=1), "labels": labels})
    real, logits = labels[labels != -100], model.seen
    pairs = logits.chunk(2) if sparse else [half[labels != -100] for half in logits.chunk(2)]
    p, q = (half.softmax(-1) for half in pairs)
    picked = [half.gather(-1, real[:, None]).log().mean() for half in (p, q)]
    divergence = ((p - q) * (p / q).log()).sum(-1).mean()
    assert divergence > 1e-3
    torch.testing.assert_close(found, -sum(picked) / 2 + 3 / 4 * divergence, atol=1e-5, rtol=1e-5)
