# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The moving average of the weights: what it is after each step, and where it is saved."""

from pathlib import Path
from typing import Any

import pytest
import torch
from shared import redraw
from test_training_options import encoder, rows_of, trained
from transformers import TrainerCallback

from modeling_scratch import ScratchEncoderForSequenceClassification
from modeling_scratch.run.callbacks import WeightAverage
from modeling_scratch.run.layout import AVERAGE
from modeling_scratch.utils.errors import DataError


class Trace(TrainerCallback):
    """The weights after each step."""

    def __init__(self) -> None:
        self.steps: list[torch.Tensor] = []

    def on_step_end(self, *_, model: torch.nn.Module, **__) -> None:
        self.steps.append(flat(model))


def flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])


SETTINGS = {
    "save_strategy": "steps", "save_steps": 5, "save_total_limit": 9, "per_device_train_batch_size": 4,
    "learning_rate": 1e-2, "lr_scheduler_type": "constant", "weight_decay": 0.0,
}  # fmt: skip


def train(folder: Path, decay: float, max_steps: int = 12, **options: Any) -> tuple[torch.nn.Module, Trace]:
    model, trace = redraw(encoder(num_hidden_layers=1)), Trace()
    trained(folder, model, rows_of(24), trace, ema_decay=decay, max_steps=max_steps, **SETTINGS, **options)
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
        train(tmp_path, 0.9, resume_from_checkpoint=str(tmp_path / "checkpoint-5"))


@pytest.mark.parametrize("decay", [1.0, -0.1])
def test_a_decay_that_averages_nothing_is_refused(decay: float) -> None:
    with pytest.raises(DataError, match="--ema_decay"):
        WeightAverage(decay)
