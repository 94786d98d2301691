# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The moving average of the weights: what it is after each step, and where it is saved."""

from pathlib import Path

import pytest
import torch
from shared import redraw
from transformers import TrainerCallback

from modeling_scratch import ScratchEncoderForSequenceClassification, presets
from modeling_scratch.run.callbacks import WeightAverage
from modeling_scratch.run.defaults import ClassifierTrainingArguments
from modeling_scratch.run.layout import AVERAGE
from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.utils.errors import DataError

ROWS = [{"input_ids": torch.tensor([i % 7 + 5, i % 5 + 5, 3]), "labels": i % 2} for i in range(24)]


class Trace(TrainerCallback):
    """The weights after each step."""

    def __init__(self) -> None:
        self.steps: list[torch.Tensor] = []

    def on_step_end(self, *_, model: torch.nn.Module, **__) -> None:
        self.steps.append(flat(model))


def flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])


def train(folder: Path, decay: float, resume: bool = False, max_steps: int = 12) -> tuple[torch.nn.Module, Trace]:
    config = presets.tutorial(
        vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, hidden_dropout=0.1
    )
    model, trace = redraw(ScratchEncoderForSequenceClassification(config)), Trace()
    arguments = ClassifierTrainingArguments(
        output_dir=str(folder), eval_strategy="no", save_strategy="steps", save_steps=5, max_steps=max_steps,
        per_device_train_batch_size=4, learning_rate=1e-2, save_total_limit=9,
        report_to="none", disable_tqdm=True, use_cpu=True, lr_scheduler_type="constant", warmup_steps=0,
        num_train_epochs=1, ema_decay=decay, weight_decay=0.0,
    )  # fmt: skip
    RunTrainer(model, arguments, train_dataset=ROWS, callbacks=[trace]).train(
        resume_from_checkpoint=str(folder / "checkpoint-5") if resume else None
    )
    return model, trace


@pytest.mark.parametrize("decay", [0.5, 0.999], ids=str)
def test_the_end_is_the_average_of_all_steps(tmp_path: Path, decay: float) -> None:
    model, trace = train(tmp_path, decay)
    average = flat(redraw(ScratchEncoderForSequenceClassification(model.config)))
    for step, weights in enumerate(trace.steps, 1):
        d = min(decay, (step + 1) / (step + 10))
        average = d * average + (1 - d) * weights
    torch.testing.assert_close(flat(model), average, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(flat(model), trace.steps[-1])


def test_a_checkpoint_has_the_weights_that_training_goes_on_with_and_their_average(tmp_path: Path) -> None:
    _, trace = train(tmp_path, 0.9, max_steps=7)
    checkpoint = ScratchEncoderForSequenceClassification.from_pretrained(tmp_path / "checkpoint-5")
    assert torch.equal(flat(checkpoint), trace.steps[4])
    (tmp_path / "checkpoint-5" / AVERAGE).unlink()
    with pytest.raises(DataError, match="--ema_decay 0"):
        train(tmp_path, 0.9, resume=True)


@pytest.mark.parametrize("decay", [1.0, -0.1])
def test_a_decay_that_averages_nothing_is_refused(decay: float) -> None:
    with pytest.raises(DataError, match="--ema_decay"):
        WeightAverage(decay)
