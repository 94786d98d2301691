# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the trainer needs to be stopped, killed and resumed: signals, the best checkpoint, orders of rows."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import LengthGroupedSampler

from .checkpoints import checkpoint_at

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals(TrainerCallback):
    """Stop training at a step from which it resumes exactly; a second signal ends the process at once.

    The checkpoint of an epoch's last step is delayed until the epoch's evaluation: a run resumed from it starts with
    the next epoch and would skip the evaluation.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.before: dict[signal.Signals, Any] = {}
        self.is_save_delayed = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Install the handlers, in the main thread only. Ignored signals (nohup) stay ignored."""
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            self.before = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
            for number in self.before:
                signal.signal(number, self._receive)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Restore the previous handlers."""
        while self.before:
            signal.signal(*self.before.popitem())

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        for each in self.before:
            signal.signal(each, signal.SIG_DFL)
        message = f"\n{self.received.name}: saving and stopping after this step; send it again to stop at once\n"
        os.write(2, message.encode())  # print is not reentrant

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if _ends_epoch(state):
            self.is_save_delayed, control.should_save = control.should_save, False
        elif self.received:
            control.should_training_stop = True

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self.received:
            control.should_training_stop = True
            if not _ends_epoch(state):  # the epoch was cut short: nothing is due yet
                control.should_log = control.should_evaluate = control.should_save = False
        if self.is_save_delayed:
            self.is_save_delayed, control.should_save = False, True


def _ends_epoch(state: TrainerState) -> bool:
    return float(state.epoch or 0).is_integer() or state.global_step >= state.max_steps


class BestCheckpoint(TrainerCallback):
    """Finds the best checkpoint of a resumed run whose folder has moved."""

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.best_global_step and (best := checkpoint_at(args, state.best_global_step)).is_dir():
            state.best_model_checkpoint = str(best)


def rows_a_step(training: TrainingArguments) -> int:
    """Return how many rows all devices read for a step of the optimizer."""
    config: Any = training.accelerator_config
    processes = 1 if getattr(config, "split_batches", False) else training.world_size
    return training.train_batch_size * processes * training.gradient_accumulation_steps


class LengthGroups(LengthGroupedSampler):
    """The group_by_length order as a function of seed, epoch and rows a step, so that a resumed run continues in it."""

    def __init__(self, sampler: LengthGroupedSampler, seed: int, rows_a_step: int) -> None:
        super().__init__(rows_a_step, lengths=sampler.lengths, generator=torch.Generator())
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        self.generator.manual_seed(self.seed + self.epoch)
        return super().__iter__()
