# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A resumable trainer: clean stops on signals, exact resumption, NaN guard and verified checkpoints."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from pathlib import Path
from signal import Signals
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Sampler
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.trainer_utils import TrainOutput, rotate_checkpoints

from ..utils.errors import DataError, DivergedError, one_line
from ..utils.files import remove
from ..utils.library_messages import hidden_messages
from .callbacks import deciding_metric
from .checkpoints import (
    UNFINISHED,
    check_best,
    check_checkpoint,
    checkpoint_at,
    checkpoints_in,
    forget_folder,
    is_left_over,
    is_regular,
    reading,
    saving,
    seal,
    set_aside,
)
from .distributed import reporting_lost_processes, shard_on_cpu, whole_weights

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

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self.received:
            control.should_training_stop = True
            if not _ends_epoch(state):  # the epoch was cut short: nothing is due yet
                control.should_log = control.should_evaluate = control.should_save = False
        if self.is_save_delayed:
            self.is_save_delayed, control.should_save = False, True


def _ends_epoch(state: TrainerState) -> bool:
    return float(state.epoch or 0).is_integer() or state.global_step >= state.max_steps


class NanGuard:
    """Records the first non-finite loss and its step, as scalars on the losses' device."""

    def __init__(self, device: torch.device) -> None:
        self.step = torch.zeros((), dtype=torch.long, device=device)  # 0: none yet
        self.loss = torch.zeros((), device=device)

    def update(self, loss: Tensor, step: int) -> None:
        """Check a scalar loss of a step, counted from 1, without host-device synchronisation."""
        is_first = ~torch.isfinite(loss) & (self.step == 0)
        self.step = torch.where(is_first, step, self.step)
        self.loss = torch.where(is_first, loss, self.loss)

    def fault(self) -> str | None:
        """Return a description of the non-finite loss, or None. Synchronises with the device."""
        return f"the loss is {self.loss.item()} at step {step}" if (step := int(self.step)) else None


def is_synchronous(device: torch.device) -> bool:
    """Return whether reading each loss is free, as on a CPU; an accelerator would have to synchronise."""
    return device.type == "cpu"


REMEDIES = "try a lower --learning_rate, more --warmup_steps, --max_grad_norm 1, or neither --fp16 nor --bf16"


class ResumableTrainer(Trainer):
    """Trainer that can be stopped, killed and resumed at any step with the same weights, bit for bit on a CPU.

    It stops on a non-finite loss and never saves non-finite weights. On an accelerator, the loss is checked when it is
    logged and before evaluation and saving, to avoid synchronising at each step. Signals are handled in
    single-process runs; a launcher handles those of distributed runs.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stop_signals = StopSignals()
        self.is_extra = False
        self.losses, self.reads_each_loss = NanGuard(self.args.device), is_synchronous(self.args.device)
        self.add_callback(self.stop_signals)
        self.add_callback(
            AfterSaving(self._finish_checkpoint)
        )  # last, as other callbacks may add files to the checkpoint

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> TrainOutput:
        if self.args.load_best_model_at_end and isinstance(resume_from_checkpoint, str):
            check_best(Path(self.args.output_dir or ""), Path(resume_from_checkpoint))
        handlers = self.stop_signals.installed() if self.args.world_size == 1 else nullcontext()
        # A state names its best checkpoint without the folder, and AfterSaving finds it once Trainer has missed it.
        missed = hidden_messages("transformers.trainer", "recorded in the resumed state does not exist")
        with handlers, reporting_lost_processes(self.args), missed:
            return super().train(resume_from_checkpoint, *args, **kwargs)

    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        shard_on_cpu(self.accelerator)
        self.is_fsdp_enabled = getattr(self.accelerator.state, "fsdp_plugin", None) is not None

    def get_train_dataloader(self) -> DataLoader:
        return self._leaving_dropout_alone(super().get_train_dataloader())

    def get_eval_dataloader(self, *args: Any, **kwargs: Any) -> DataLoader:
        return self._leaving_dropout_alone(super().get_eval_dataloader(*args, **kwargs))

    def _leaving_dropout_alone(self, loader: DataLoader) -> DataLoader:
        """Give a loader whose workers persist a generator of its own.

        Each iterator draws a number when it is made. One with persistent workers is made once, and once more in a
        resumed run.
        """
        if self.args.dataloader_persistent_workers:
            inner = getattr(loader, "base_dataloader", loader)  # inside that of Accelerate
            inner.generator = torch.Generator().manual_seed(self.args.seed)
        return loader

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        """Skip the epoch if training has ended. Trainer would take a further step when resuming a finished run."""
        if self.state.global_step < self.state.max_steps and not self.control.should_training_stop:
            super()._run_epoch(*args, **kwargs)
        else:
            self.control.should_training_stop = True

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        loss = super().training_step(*args, **kwargs)
        self.losses.update(loss, self.state.global_step + 1)
        if self.reads_each_loss:
            self._check_losses()
        return loss

    def _maybe_log_save_evaluate(self, *args: Any, **kwargs: Any) -> None:
        if self.control.should_log or self.control.should_evaluate or self.control.should_save:
            self._check_losses()
        super()._maybe_log_save_evaluate(*args, **kwargs)

    def _check_losses(self) -> None:
        if fault := self.losses.fault():
            raise self._diverged(fault)

    def _diverged(self, fault: str) -> DivergedError:
        saved = checkpoints_in(Path(self.args.output_dir or ""))
        kept = f"the last checkpoint, {saved[-1]}, is unchanged" if saved else "there is no checkpoint yet"
        return DivergedError(f"{fault}; training stopped; {REMEDIES}; {kept}")

    def _finalize_training(self, trial: Any, *args: Any) -> TrainOutput:
        self._check_losses()
        if received := self.stop_signals.received:
            self._leave(received, trial)
        self.stop_signals.release()  # evaluation and saving can be interrupted as usual
        if not self.args.load_best_model_at_end:
            self.state.best_model_checkpoint = None  # unused, and Trainer would delete other checkpoints to keep it
        return super()._finalize_training(trial, *args)

    def _leave(self, received: Signals, trial: Any) -> None:
        """Save a checkpoint, then exit with the signal's exit code."""
        checkpoint = checkpoint_at(self.args, self.state.global_step)
        if not is_regular(checkpoint):
            self.is_extra = True
            self._save_checkpoint(self.model_wrapped, trial)
            self._call_on_save()
        self._finish_current_push()
        print(
            f"stopped by {received.name} after step {self.state.global_step}, saved in {checkpoint}; to resume, repeat "
            "the command with --resume_from_checkpoint last",
            file=sys.stderr,
        )
        sys.exit(128 + received)

    def _call_on_save(self) -> None:
        """Call each callback's on_save, even if an earlier one fails: the last one seals the checkpoint."""
        for callback in self.callback_handler.callbacks:
            alone = copy(self.callback_handler)
            alone.callbacks = [callback]
            try:
                alone.on_save(self.args, self.state, self.control)
            except DataError:  # a file of the checkpoint could not be written
                raise
            except Exception as error:  # reporters and pushes raise many types
                print(f"WARNING: {type(callback).__name__} failed: {one_line(error)}", file=sys.stderr)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save into an empty folder. Pushing and deleting older checkpoints waits until it is sealed."""
        checkpoint, arguments = checkpoint_at(self.args, self.state.global_step), self.args
        if arguments.should_save:
            set_aside(checkpoint)
            remove(checkpoint)  # never sealed
        limit, pushes = arguments.save_total_limit, arguments.push_to_hub
        arguments.save_total_limit, arguments.push_to_hub = None, False
        try:
            with saving(checkpoint):
                super()._save_checkpoint(model, trial)
                if arguments.should_save:
                    forget_folder(checkpoint / TRAINER_STATE_NAME)
        finally:
            arguments.save_total_limit, arguments.push_to_hub = limit, pushes

    def save_state(self) -> None:
        super().save_state()
        if self.is_world_process_zero():
            forget_folder(Path(self.args.output_dir or "") / TRAINER_STATE_NAME)

    def _finish_checkpoint(self) -> None:
        checkpoint, arguments = checkpoint_at(self.args, self.state.global_step), self.args
        self.accelerator.wait_for_everyone()  # each process writes its own random state
        if arguments.should_save:
            with saving(checkpoint):
                seal(checkpoint, self.is_extra)
        if arguments.push_to_hub:
            self._push_from_checkpoint(str(checkpoint))
        if arguments.should_save and not self.is_extra:
            self._delete_older(checkpoint)

    def _delete_older(self, checkpoint: Path) -> None:
        """Delete checkpoints that were saved because of a stop, and those beyond --save_total_limit."""
        folder = checkpoint.parent
        for other in checkpoints_in(folder):
            if is_left_over(other):
                shutil.rmtree(other)
        best = self.state.best_model_checkpoint
        rotate_checkpoints(str(folder), self.args.save_total_limit, best, use_mtime=False)  # copies have other times

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the model under a temporary name, and replace the previous files once it is complete."""
        folder = Path(self.args.output_dir or "")
        if output_dir not in (None, self.args.output_dir) or self.is_deepspeed_enabled:
            with whole_weights(self):
                return super().save_model(output_dir, _internal_call)
        unfinished = folder / UNFINISHED
        if self.args.should_save:
            remove(unfinished)
        with saving(unfinished), whole_weights(self):
            super().save_model(str(unfinished), _internal_call=True)
            if self.args.should_save:
                _move_all(unfinished, folder)
        if self.args.push_to_hub and not _internal_call:
            self.push_to_hub(commit_message="Model save", revision=self.args.hub_revision)

    def _determine_best_metric(self, metrics: dict[str, float], *args: Any, **kwargs: Any) -> bool:
        """Of checkpoints with equal scores, choose the last, which has learned most."""
        if metrics.get(deciding_metric(self.args)) == self.state.best_metric:
            self.state.best_metric = None
        try:
            return super()._determine_best_metric(metrics, *args, **kwargs)
        except KeyError as error:  # the metrics are known only after an evaluation
            raise DataError(f"--metric_for_best_model {self.args.metric_for_best_model}: {error.args[0]}") from error

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        weights = self.model.parameters() if self.model is not None else []
        weights = weights if state_dict is None else state_dict.values()
        if not all(bool(torch.isfinite(weight).all()) for weight in weights):
            raise self._diverged(f"the weights are not finite after step {self.state.global_step}")
        super()._save(output_dir, state_dict)

    def _get_train_sampler(self, *args: Any) -> Sampler | None:
        sampler = super()._get_train_sampler(*args)
        return LengthGroups(sampler, self.args.seed) if isinstance(sampler, LengthGroupedSampler) else sampler

    def _load_from_checkpoint(self, resume_from_checkpoint: str, *args: Any, **kwargs: Any) -> None:
        with reading(resume_from_checkpoint):
            super()._load_from_checkpoint(resume_from_checkpoint, *args, **kwargs)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        given = hyperparameters(self.optimizer)
        with reading(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)
        apply_hyperparameters(given, self.optimizer, self.lr_scheduler)

    def _load_scaler(self, checkpoint: str | None) -> None:
        with reading(checkpoint):
            super()._load_scaler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with reading(checkpoint):
            super()._load_rng_state(checkpoint)

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Warn of missing keys, except for tied weights, which a checkpoint stores once."""
        tied: Any = getattr(self.model, "all_tied_weights_keys", {})
        missing = [name for name in load_result.missing_keys if name not in tied]
        super()._issue_warnings_after_load(type(load_result)(missing, load_result.unexpected_keys))

    def _load_best_model(self) -> None:
        """Load the best checkpoint or, if it is lost or damaged, keep the last weights with a warning."""
        best = Path(self.state.best_model_checkpoint or "")
        if (fault := check_checkpoint(best)) is None:
            return super()._load_best_model()
        self.state.best_model_checkpoint = None  # the card reads it, and Trainer deletes no other checkpoint to keep it
        print(
            f"WARNING: the best checkpoint, {best}, cannot be loaded: {fault}; keeping the last weights",
            file=sys.stderr,
        )


HYPERPARAMETERS = ("initial_lr", "weight_decay", "betas", "eps")  # those that TrainingArguments names


def hyperparameters(optimizer: Any) -> list[dict[str, Any]]:
    """Return those of each parameter group. initial_lr is the peak of the schedule."""
    groups = optimizer.param_groups if optimizer is not None else []
    return [{name: group[name] for name in HYPERPARAMETERS if name in group} for group in groups]


def apply_hyperparameters(given: list[dict[str, Any]], optimizer: Any, scheduler: Any) -> None:
    """Replace those of a loaded optimizer that differ from the given ones. The schedule goes on with the new peak."""
    if given == hyperparameters(optimizer):
        return
    for group, changed in zip(optimizer.param_groups, given):
        group.update(changed)
    if isinstance(scheduler, LambdaLR) and all("initial_lr" in group for group in given):
        peaks = [group["initial_lr"] for group in given]
        rates = [peak * factor(scheduler.last_epoch) for peak, factor in zip(peaks, scheduler.lr_lambdas)]
        scheduler.load_state_dict({**scheduler.state_dict(), "base_lrs": peaks, "_last_lr": rates})
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate


class AfterSaving(TrainerCallback):
    """Finish each checkpoint, and locate the best one if the run's folder has moved."""

    def __init__(self, finish: Callable[[], None]) -> None:
        self.finish = finish

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.best_global_step and (best := checkpoint_at(args, state.best_global_step)).is_dir():
            state.best_model_checkpoint = str(best)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.finish()


class LengthGroups(LengthGroupedSampler):
    """The group_by_length order as a function of seed and epoch alone, so that a resumed run continues in it."""

    def __init__(self, sampler: LengthGroupedSampler, seed: int) -> None:
        super().__init__(sampler.batch_size, lengths=sampler.lengths, generator=torch.Generator())
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        self.generator.manual_seed(self.seed + self.epoch)
        return super().__iter__()


def _move_all(source: Path, target: Path) -> None:
    for path in source.iterdir():
        if path.is_dir():
            remove(target / path.name)
        path.replace(target / path.name)
    source.rmdir()
