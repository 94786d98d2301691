# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""R-Drop: the loss of two draws of dropout, and its gradients over accumulated batches and several processes."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import redraw
from model_cases import TINY, tiny
from safetensors.torch import load_file
from together import together
from torch import nn
from transformers import TrainingArguments, default_data_collator
from transformers.modeling_outputs import SequenceClassifierOutput

from modeling_scratch import (
    ScratchEncoderForSequenceClassification,
    ScratchSeq2SeqConfig,
    ScratchSeq2SeqForConditionalGeneration,
)
from modeling_scratch.run.losses import RDrop, Twice
from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.tasks.translation_model import TranslationTrainingArguments

ROWS = [{"input_ids": [5, 6, 7], "attention_mask": [1, 1, 1], "label": number % 2} for number in range(8)]


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


QUIET: dict[str, Any] = {
    "max_steps": 1, "save_strategy": "no", "report_to": [], "use_cpu": True, "disable_tqdm": True,
}  # fmt: skip


def trainer(folder: Path, model: Any) -> RunTrainer:
    return RunTrainer(model, TrainingArguments(str(folder), **QUIET), train_dataset=ROWS, added_loss=RDrop(3.0))


def twice(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return Twice(lambda rows: rows)(inputs)


def test_the_loss_is_that_of_both_draws_plus_their_divergence(tmp_path: Path) -> None:
    model = Alternating().train()
    inputs = {"input_ids": torch.zeros(3, 4, dtype=torch.long), "labels": torch.tensor([0, 1, 1])}
    found = trainer(tmp_path, model).compute_loss(model, twice(inputs))
    p, q = model.scores.softmax(-1)
    cross_entropy = -(p[inputs["labels"]].log().mean() + q[inputs["labels"]].log().mean()) / 2
    divergence = (p * (p / q).log()).sum() + (q * (q / p).log()).sum()
    torch.testing.assert_close(found, cross_entropy + 3 / 4 * divergence)


class SecondDraw(ScratchEncoderForSequenceClassification):
    """A model without dropout whose logits of the second half of a batch differ all the same."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().forward(*args, **kwargs)
        first, second = outputs.logits.chunk(2)
        outputs.logits = torch.cat([first, 1.7 * second + torch.tensor([0.5, -0.5])])
        return outputs


def second_draw() -> SecondDraw:
    return redraw(SecondDraw(tiny(hidden_dropout=0.0, num_labels=2, problem_type="single_label_classification")))


def train_parts(rank: int, folder: str, batch: int, parts: int) -> None:
    """Save the weights after one step of 8 rows, in as many batches as there are processes times parts."""
    model = second_draw()
    options = {"learning_rate": 1e-2, "optim": "sgd", "max_grad_norm": 0, "remove_unused_columns": False, **QUIET}
    arguments = TrainingArguments(
        folder, per_device_train_batch_size=batch, gradient_accumulation_steps=parts, **options
    )
    collator = Twice(default_data_collator)
    RunTrainer(model, arguments, train_dataset=ROWS, train_collator=collator, added_loss=RDrop(3.0)).train()
    if rank == 0:
        model.save_pretrained(folder)


@pytest.mark.parametrize("processes", [1, 2])
def test_batches_and_processes_share_a_step_as_one_batch(processes: int, tmp_path: Path) -> None:
    train_parts(0, str(tmp_path / "whole"), 8, 1)
    together(processes, train_parts, str(tmp_path / "parts"), 2, 4 // processes)
    whole, parts = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    for name, weight in whole.items():
        torch.testing.assert_close(weight, parts[name], atol=1e-6, rtol=1e-5, msg=name)


class Remembering(ScratchSeq2SeqForConditionalGeneration):
    """A translator that keeps the logits of its last step."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        outputs = super().forward(*args, **kwargs)
        self.seen = outputs.logits
        return outputs


def translator(model: Any, arguments: Any, alpha: float) -> RunTrainer:
    return RunTrainer(model, arguments, smooths_in_model=True, added_loss=RDrop(alpha) if alpha else None)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_tokens_of_a_translation_count_and_padding_does_not(tmp_path: Path, sparse: bool, alpha: float) -> None:
    fields = {**TINY, "hidden_dropout": 0.4, "sparse_prediction": sparse, "decoder_start_token_id": 1}
    model = redraw(Remembering(ScratchSeq2SeqConfig(**fields))).train()
    arguments = TranslationTrainingArguments(str(tmp_path), r_drop=alpha, eval_strategy="no", **QUIET)
    labels = torch.tensor([[5, 6, 7, 2], [8, 2, -100, -100]])
    inputs = {"input_ids": labels.clamp(min=1), "labels": labels}
    inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels)  # as the collator does
    batch, items = (twice(inputs), torch.tensor(12)) if alpha else (inputs, torch.tensor(6))
    found = translator(model, arguments, alpha).compute_loss(model, batch, num_items_in_batch=items)
    draws = model.seen.chunk(2) if alpha else [model.seen]
    assert draws[0].ndim == (2 if sparse else 3)
    real = labels[labels != -100]
    draws = [(draw if sparse else draw[labels != -100]).log_softmax(-1) for draw in draws]
    smoothed = sum(-0.9 * draw.gather(-1, real[:, None]).sum() - 0.1 * draw.mean(-1).sum() for draw in draws)
    difference = draws[0] - draws[-1]
    divergence = ((draws[0].exp() - draws[-1].exp()) * difference).sum()
    assert (divergence > 1e-3) == (alpha > 0)
    torch.testing.assert_close(found, smoothed / 6 / len(draws) + alpha / 4 * divergence / 6, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("count", [None, torch.tensor(0)])
def test_a_batch_without_labels_has_a_loss_of_zero(tmp_path: Path, sparse: bool, count: Any) -> None:
    fields = {**TINY, "sparse_prediction": sparse, "decoder_start_token_id": 1}
    model = redraw(ScratchSeq2SeqForConditionalGeneration(ScratchSeq2SeqConfig(**fields))).train()
    arguments = TranslationTrainingArguments(str(tmp_path), r_drop=3.0, eval_strategy="no", **QUIET)
    inputs = {"input_ids": torch.tensor([[5, 6, 7]]), "labels": torch.full((1, 3), -100)}
    inputs["decoder_input_ids"] = inputs["input_ids"]
    loss = translator(model, arguments, 3.0).compute_loss(model, twice(inputs), num_items_in_batch=count)
    assert loss.item() == 0
