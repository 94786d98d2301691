# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a run needs to be stopped, killed and resumed: signals, orders of rows, and arguments that may not change."""

import os
import signal
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import LengthGroupedSampler

from ..sharing.run_record import read_run, settings_of
from ..utils.errors import DataError

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# They determine the state of the optimizer.
OPTIMIZER = (
    *("layer_decay", "optim", "optim_args", "optim_target_modules", "learning_rate", "lr_scheduler_type"),
    *("weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon"),
)
# They determine which rows a step reads, and thus where a run continues, which is counted in steps.
ORDER = ("seed", "data_seed", "train_sampling_strategy")
ROWS_A_STEP = "rows_a_step"  # in the record of a run


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


@contextmanager
def raising_at_sigterm() -> Iterator[None]:
    """Let SIGTERM raise `SystemExit` where no training handles it, as while data are read. Other handlers stay."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


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


def check_arguments(folder: Path, groups: Mapping[str, Any], has_checkpoint: bool) -> None:
    """Raise `DataError` if a continued run has other arguments than its record, or would skip or repeat rows.

    The rows of a step may be divided otherwise between devices and micro-batches.
    """
    training: TrainingArguments = groups["training"]
    fixed = {*OPTIMIZER, *ORDER} if has_checkpoint else set()
    if not training.learning_rate:  # that of the run, which a paper's rule gives
        fixed.discard("learning_rate")
    check_unchanged(folder, groups, fixed)
    now = rows_a_step(training)
    before = read_run(folder).get(ROWS_A_STEP, now)
    if has_checkpoint and before != now:
        raise DataError(
            f"cannot continue the run in {folder}: a step was {before:,} rows and is {now:,}, so that rows would be "
            "skipped or read twice; restore --per_device_train_batch_size × --gradient_accumulation_steps × devices"
        )


def check_unchanged(folder: Path, groups: Mapping[str, Any], fixed: Collection[str]) -> None:
    """Raise `DataError` if the arguments of a continued run differ from its recorded ones.

    groups: the argument dataclasses under their names in run_config.json, as for `write_run`. Of the group "training",
    only the `fixed` arguments are compared.
    """
    record = read_run(folder, groups)
    changes = [
        f"--{name} was {record[group][name]!r} and is {value!r}"
        for group, arguments in groups.items()
        for name, value in settings_of(arguments).items()
        if (group != "training" or name in fixed) and not _agree(record.get(group, {}).get(name, value), value)
    ]
    if changes:
        raise DataError(
            f"cannot continue the run in {folder}: {'; '.join(changes)}; restore these arguments, "
            "or choose another --output_dir for a new run"
        )


def _agree(old: Any, new: Any) -> bool:
    """Compare values as recorded: of an absolute path, the record keeps only the last component."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_agree, old, new))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or old == Path(new).name or Path(old).name == new
    return old == new
