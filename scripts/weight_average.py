# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""An exponential moving average of the weights, kept beside the training and taken at its end."""

from typing import Any

import torch
from checkpoints import checkpoint_at, saving
from safetensors.torch import load_file, save_file
from several_processes import is_in_parts
from text_files import DataError
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

AVERAGE_FILE = "weight_average.safetensors"


class WeightAverage(TrainerCallback):
    """average <- d average + (1 - d) weights after each step (Polyak and Juditsky 1992), d = decay.

    At first, when there is little to average, d is (step + 1) / (step + 10). Training goes on with the weights
    themselves; at its end the model gets the average. Each checkpoint holds both, so that a run can be resumed.
    """

    def __init__(self, decay: float) -> None:
        if not 0 < decay < 1:
            raise DataError(f"--ema_decay {decay}: has to be between 0 and 1, such as 0.999")
        self.decay = decay
        self.average: dict[str, Tensor] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if is_in_parts(kwargs["model"]):
            raise DataError("--ema_decay has to be 0 where the weights are in parts (FSDP, ZeRO)")
        self.average = {name: weight.detach().clone() for name, weight in kwargs["model"].named_parameters()}
        if not state.global_step:
            return
        saved = checkpoint_at(args, state.global_step) / AVERAGE_FILE
        if not saved.is_file():
            raise DataError(f"{saved} is missing: resume with --ema_decay 0, or start anew")
        for name, weight in load_file(saved).items():
            self.average[name].copy_(weight)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        decay = min(self.decay, (state.global_step + 1) / (state.global_step + 10))
        weights = [weight.detach() for weight in kwargs["model"].parameters()]
        torch._foreach_lerp_(list(self.average.values()), weights, 1 - decay)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            with saving(checkpoint_at(args, state.global_step)):
                save_file(self.average, checkpoint_at(args, state.global_step) / AVERAGE_FILE)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        with torch.no_grad():
            for name, weight in kwargs["model"].named_parameters():
                weight.copy_(self.average[name])
