# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The trainer of every program: transformers.Trainer that is resumed exactly. What differs comes as functions.

It overrides six private methods of Trainer, each with its reason. The bases override public methods alone.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from shutil import disk_usage
from signal import Signals
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.utils.data import Sampler, SequentialSampler
from transformers import PreTrainedTokenizerBase
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.trainer_utils import EvalLoopOutput, TrainOutput, rotate_checkpoints

from ..modeling_base import ScratchPreTrainedModel
from ..pipelines import TARGET_FOLDER
from ..report.report_files import deciding_metric
from ..utils.errors import DataError, DivergedError, hidden_messages, one_line
from ..utils.files import read_json, remove, write_json
from .callbacks import EarlyStopping, WeightAverage, print_lines
from .captured_trainer import CapturedTrainer
from .checkpoints import (
    check_best,
    check_checkpoint,
    checkpoint_at,
    checkpoints_in,
    delete_unsealed,
    is_sealed,
    move_all,
    saving,
    seal,
    set_aside,
)
from .layout import PICKLED_ARGUMENTS, UNFINISHED
from .optimizers import set_rates_by_depth
from .resuming import LengthGroups, StopSignals, rows_a_step

WHAT_TO_TRY = "restart with a lower --learning_rate, more --warmup_steps, --max_grad_norm 1, or no --fp16 and --bf16"
# Of a sealed checkpoint, these are tied weights, which it has once; and the best one is found in a moved folder, too.
MISLEADING = "missing keys in the checkpoint model loaded", "recorded in the resumed state does not exist"
DATA_SHARE = "train_data_share"  # of the time of a training, in which it waited for batches
Change = Callable[[optim.Optimizer, nn.Module], None]  # of a fresh optimizer


class RunTrainer(CapturedTrainer):
    """Trainer that can be stopped, killed and resumed at any step with the same weights, bit for bit on a CPU.

    It stops on a non-finite loss when it logs it, and never saves non-finite weights. Signals are handled in
    single-process runs; a launcher handles those of distributed runs.
    """

    skips_padding = True  # compute_loss calls the losses of the model, and functions that are told of padding

    def __init__(
        self,
        *args: Any,
        train_collator: Callable[[Any], Any] | None = None,  # where it is not that of evaluation
        train_sampler: Sampler | None = None,
        smooths_in_model: bool = False,  # `forward` takes the label smoothing, and computes no logits for padding
        changes: Sequence[Change] = (),
        target_tokenizer: PreTrainedTokenizerBase | None = None,  # saved beside the other
        keeps_checkpoints: bool = True,  # False for trials, which nobody resumes
        captured: bool | None = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, captured=captured, **kwargs)
        if not isinstance(self.model, ScratchPreTrainedModel):  # others take num_items_in_batch, and ignore it
            self.model_accepts_loss_kwargs = False
        self.train_collator, self.train_sampler = train_collator, train_sampler
        self.smooths_in_model, self.changes = smooths_in_model, list(changes)
        if (layer_decay := getattr(self.args, "layer_decay", None) or 1) != 1:
            body: Any = self.model.base_model_prefix
            self.changes.insert(0, partial(set_rates_by_depth, body=body, decay=layer_decay))
        if smooths_in_model:
            self.label_smoother = None  # that of Trainer takes the labels from the model
        self.target_tokenizer, self.keeps_checkpoints = target_tokenizer, keeps_checkpoints
        decay, patience = (getattr(self.args, name, None) for name in ("ema_decay", "early_stopping_patience"))
        self.average, self.stop_signals = WeightAverage(decay) if decay else None, StopSignals()
        stops = EarlyStopping(patience) if patience else None
        for callback in filter(None, (self.average, stops, self.stop_signals)):
            self.add_callback(callback)
        print_lines(self)

    # Training

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> TrainOutput:
        stops = self.args.world_size == 1 and self.keeps_checkpoints
        handlers = self.stop_signals.installed() if stops else nullcontext()
        self.seconds_for_data, self.has_begun = 0.0, False
        try:
            if self.args.load_best_model_at_end and isinstance(resume_from_checkpoint, str):
                check_best(Path(self.args.output_dir or ""), Path(resume_from_checkpoint))
            with handlers, hidden_messages("transformers.trainer", *MISLEADING):
                result = super().train(resume_from_checkpoint, *args, **kwargs)
        except Exception as error:
            if self.has_begun or not resume_from_checkpoint or isinstance(error, DataError):
                raise
            remedy = "resume from an earlier checkpoint, or start a new run"
            raise DataError(f"{resume_from_checkpoint} cannot be loaded: {one_line(error)}; {remedy}") from error
        result.metrics[DATA_SHARE] = self.seconds_for_data / result.metrics["train_runtime"]
        return result

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        if self.smooths_in_model and model.training and "labels" in inputs:
            inputs = {**inputs, "smoothing": self.args.label_smoothing_factor}
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        self.has_begun = True
        return super().training_step(*args, **kwargs)

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> tuple[list, Any]:
        """Measure how long the batches of a step take."""
        start = time.perf_counter()
        found = super().get_batch_samples(*args, **kwargs)
        self.seconds_for_data += time.perf_counter() - start
        return found

    def create_optimizer(self, model: nn.Module | None = None) -> optim.Optimizer:
        is_new, optimizer = self.optimizer is None, super().create_optimizer(model)
        for change in self.changes if is_new else ():
            change(optimizer, self.model if model is None else model)
        return optimizer

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Raise `DivergedError` if a loss since the last entry was not finite: their mean is not, either."""
        loss = logs.get("loss", logs.get("train_loss", 0.0))
        if not math.isfinite(loss):
            raise self._diverged(f"the loss is not finite by step {self.state.global_step}")
        super().log(logs, *args, **kwargs)

    def _diverged(self, fault: str) -> DivergedError:
        saved = checkpoints_in(Path(self.args.output_dir or ""))
        kept = f"the last checkpoint, {saved[-1]}, is unchanged" if saved else "there is no checkpoint yet"
        return DivergedError(f"{fault}; training stopped; {WHAT_TO_TRY}; {kept}")

    # Evaluation

    def prediction_step(self, *args: Any, **kwargs: Any) -> tuple[Tensor | None, Any, Any]:
        """Weight the mean loss of a batch by its labels, as Trainer weights it by its rows."""
        loss, outputs, labels = super().prediction_step(*args, **kwargs)
        if loss is not None and labels is not None:
            share = self._labels_a_row(labels)
            loss = torch.where(share > 0, loss * share, 0.0)
        return loss, outputs, labels

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """Return the mean loss of all labels, whatever the batches: Trainer's is a mean of means of batches."""
        output = super().evaluation_loop(*args, **kwargs)
        metrics, name = output.metrics or {}, f"{kwargs.get('metric_key_prefix', 'eval')}_loss"
        if "eval_token_loss" in metrics:  # that of `token_metrics`
            metrics["eval_loss"] = metrics.pop("eval_token_loss")
        elif name in metrics and output.label_ids is not None:
            metrics[name] /= self._labels_a_row(output.label_ids).item() or 1
        return output

    def _labels_a_row(self, labels: Any) -> Tensor:
        """Return how many labels a row has on average. Labels of -100 are none.

        It stays on the device of the labels, so that no batch of an evaluation waits for it.
        """
        first = torch.as_tensor(labels[0] if isinstance(labels, tuple) else labels)
        return torch.ones((), device=first.device) if first.is_floating_point() else (first != -100).sum() / len(first)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Of checkpoints with equal scores, the last becomes the best, as it has learned most."""
        metrics = super().evaluate(*args, **kwargs)
        if self.is_in_train and metrics.get(deciding_metric(self.args)) == self.state.best_metric:
            self.state.best_metric = None
        return metrics

    # Checkpoints

    def rehearse_saving(self) -> None:
        """Save all but the weights elsewhere: what fails would fail at the first checkpoint, with the steps before it.

        Raises `DataError`, also for a disk without room for a checkpoint.
        """
        if not self.args.should_save:
            return
        try:
            with TemporaryDirectory() as folder:
                self._save(folder, state_dict={})
        except Exception as error:
            raise DataError(f"the model could not be saved: {one_line(error)}") from error
        output, model = Path(self.args.output_dir or "").absolute(), self.model
        place = next(path for path in (output, *output.parents) if path.exists())
        needs, free = sum(weight.nbytes for weight in model.parameters()), disk_usage(place).free
        if self.keeps_checkpoints and free < needs:
            raise DataError(f"{place}: {free / 1e9:.2g} GB are free, and the weights alone take {needs / 1e9:.2g} GB")

    def save_state(self) -> None:
        super().save_state()
        if self.is_world_process_zero():
            state = Path(self.args.output_dir or "") / TRAINER_STATE_NAME
            content = read_json(state)
            if best := content.get("best_model_checkpoint"):  # a pushed state reveals no local paths
                write_json(state, {**content, "best_model_checkpoint": Path(best).name})

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the model under a temporary name, and replace the previous files once it is complete."""
        folder = Path(self.args.output_dir or "")
        if output_dir not in (None, self.args.output_dir):
            return super().save_model(output_dir, _internal_call)
        unfinished = folder / UNFINISHED
        if self.args.should_save:
            remove(unfinished)
        with saving(unfinished):
            super().save_model(str(unfinished), _internal_call=True)
            if self.args.should_save:
                move_all(unfinished, folder)

    def _leave(self, received: Signals, trial: Any) -> None:
        """Save a checkpoint, then exit with the signal's exit code."""
        checkpoint = checkpoint_at(self.args, self.state.global_step)
        if not is_sealed(checkpoint):
            self._save_checkpoint(self.model_wrapped, trial)
        print(
            f"stopped by {received.name} after step {self.state.global_step}, saved in {checkpoint}; to resume, repeat "
            "the command with --resume_from_checkpoint last",
            file=sys.stderr,
        )
        sys.exit(128 + received)

    # Private methods of Trainer

    def _get_train_sampler(self, *args: Any) -> Sampler | None:
        """Trainer takes no sampler, and the order of its groups by length cannot be resumed."""
        if self.train_sampler is not None:
            return self.train_sampler
        sampler = super()._get_train_sampler(*args)
        if isinstance(sampler, LengthGroupedSampler):
            return LengthGroups(sampler, self.args.seed, rows_a_step(self.args))
        return sampler

    def _get_eval_sampler(self, *args: Any) -> Sampler | None:
        """Trainer would group these by length, too. The reports take predictions in the order of the texts."""
        sampler = super()._get_eval_sampler(*args)
        return SequentialSampler(*args) if isinstance(sampler, LengthGroupedSampler) else sampler

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        """Trainer would take a further step when a finished run is resumed."""
        if self.state.global_step < self.state.max_steps and not self.control.should_training_stop:
            super()._run_epoch(*args, **kwargs)
        else:
            self.control.should_training_stop = True

    def _finalize_training(self, trial: Any, *args: Any) -> TrainOutput:
        """Trainer has no other place between the last step and the best weights: a stop leaves here."""
        if received := self.stop_signals.received:
            self._leave(received, trial)
        self.stop_signals.release()  # evaluation and saving can be interrupted as usual
        # Of a folder that may have moved. One that is not used is not kept, as Trainer would delete others instead.
        step = self.state.best_global_step if self.args.load_best_model_at_end else None
        best = checkpoint_at(self.args, step) if step else None
        if best and (fault := check_checkpoint(best)):
            lost = f"the best checkpoint, {best}, cannot be loaded: {fault}; keeping the last weights"
            print(f"WARNING: {lost}", file=sys.stderr)
            best = None
        self.state.best_model_checkpoint = str(best) if best else None  # the report reads it
        # With 1, Trainer would delete the last checkpoint here, from which a longer run goes on.
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            return super()._finalize_training(trial, *args)
        finally:
            self.args.save_total_limit = limit

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save into an empty folder. Trainer would push and delete older checkpoints before it is sealed."""
        checkpoint, arguments = checkpoint_at(self.args, self.state.global_step), self.args
        is_main, limit, pushes = arguments.should_save, arguments.save_total_limit, arguments.push_to_hub
        if is_main:
            set_aside(checkpoint)
            remove(checkpoint)  # never sealed
        arguments.save_total_limit, arguments.push_to_hub = None, False
        try:
            with saving(checkpoint):
                super()._save_checkpoint(model, trial)
                if self.average is not None and is_main:
                    self.average.save(checkpoint)
                self.accelerator.wait_for_everyone()  # each process writes its own random state
                if is_main:
                    seal(checkpoint)
        finally:
            arguments.save_total_limit, arguments.push_to_hub = limit, pushes
        self.accelerator.wait_for_everyone()  # none takes it for a damaged one before it is sealed
        if is_main:
            delete_unsealed(checkpoint.parent)
            best = self.state.best_model_checkpoint
            rotate_checkpoints(str(checkpoint.parent), limit, best, use_mtime=False)  # copies have other times

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        """All that is saved passes here: finite weights, all tokenizers, and no pickled arguments."""
        weights = self.model.parameters() if self.model is not None else []
        weights = weights if state_dict is None else state_dict.values()
        if not all(bool(torch.isfinite(weight).all()) for weight in weights):
            raise self._diverged(f"the weights are not finite after step {self.state.global_step}")
        tokenizer, target = self.processing_class, self.target_tokenizer
        for each in (tokenizer, target):  # a fast one would save the truncation and the padding of its last call
            if (backend := getattr(each, "backend_tokenizer", None)) is not None:
                backend.no_truncation()
                backend.no_padding()
        super()._save(output_dir, state_dict)
        folder = Path(output_dir or self.args.output_dir or "")
        if not self.args.should_save:
            return
        (folder / PICKLED_ARGUMENTS).unlink(missing_ok=True)  # run_config.json has them, readable, without tokens
        if target is not None and target is not tokenizer:
            target.save_pretrained(folder / TARGET_FOLDER)
