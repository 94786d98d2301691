# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Arguments that training programs add to TrainingArguments, or whose defaults they change, and their checks."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import torch
from transformers import TrainingArguments
from transformers.integrations import get_available_reporting_integrations
from transformers.trainer_utils import IntervalStrategy
from transformers.utils import is_in_notebook

from ..utils.errors import DataError, one_line
from ..utils.options import option

# The arguments that name inputs: one, or a list of them.
INPUTS = (
    "model_name_or_path", "tokenizer_name_or_path", "data_dir", "train_file", "validation_file", "test_file",
    "unlabelled_file",
)  # fmt: skip
# The least and the greatest value of arguments of which Trainer accepts others, and stops late or ignores them. Others
# that are not negative by default cannot be negative.
LEAST = dict.fromkeys(("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"), 1)
MOST = {"seed": 2**32 - 1, "label_smoothing_factor": 1}

# Arguments of Trainer, which `accelerate launch` may set, too, and why the programs refuse them.
SHARDED = (
    "each process holds the whole model here: use scripts/accelerate/ddp.yaml; transformers.Trainer itself shards the "
    "weights of these models"
)
PUSHED_ONCE = "--push_to_hub True pushes once, when the run has its scores"
ROUNDED = "the weights would be rounded before they are saved; `predict --precision bfloat16` answers in 16 bits"
UNSUPPORTED = {
    **dict.fromkeys(("fsdp", "deepspeed"), SHARDED),
    **dict.fromkeys(("bf16_full_eval", "fp16_full_eval"), ROUNDED),
    **dict.fromkeys(("prediction_loss_only", "label_names"), "the scores are of the labels"),
    "hub_always_push": PUSHED_ONCE,
    "dataloader_drop_last": "each epoch reads every row",
    "ignore_data_skip": "a resumed run would read rows twice",
    "use_liger_kernel": "it has no kernels for these models",
    "dataloader_persistent_workers": "a resumed run would not draw the dropout of an uninterrupted one",
}


def check_supported(arguments: Any) -> None:
    """Raise `DataError` for an argument of Trainer that the programs do not take."""
    for name, reason in UNSUPPORTED.items():
        if getattr(arguments, name) or os.environ.get(f"ACCELERATE_USE_{name.upper()}", "").lower() == "true":
            raise DataError(f"--{name} is not supported: {reason}")
    if arguments.hub_strategy not in ("every_save", "end"):  # the first is Trainer's default
        raise DataError(f"--hub_strategy {arguments.hub_strategy} is not supported: {PUSHED_ONCE}")


def check_numbers(arguments: Any) -> None:
    """Raise `DataError` for a number that is not finite or not within its bounds. The default is."""
    for each in fields(arguments):
        name, value = each.name, getattr(arguments, each.name)
        least, most = LEAST.get(name, 0), MOST.get(name, sys.float_info.max)
        if isinstance(value, int | float) and value != each.default and not least <= value <= most:
            limit = f" and at most {most}" if name in MOST else ""
            raise DataError(f"--{name} {value}: must be a finite number, at least {least}{limit}")
    if arguments.save_steps == 0 and arguments.save_strategy != "no":
        raise DataError("--save_steps 0: must be above 0; --save_strategy no saves no checkpoints")


@contextmanager
def checking_arguments() -> Iterator[None]:
    """Raise a one-line `DataError` for any error of a library that is given the arguments of a run.

    Errors in names are those of a program, and pass.
    """
    try:
        yield
    except (DataError, NameError, AttributeError):
        raise
    except Exception as error:
        raise DataError(f"training cannot start with these arguments: {one_line(error)}") from error


@dataclass
class RunArguments:
    """Mix-in that precedes TrainingArguments in the bases of a program's arguments."""

    ddp_find_unused_parameters: bool | None = option(
        False, "Search for parameters without gradient; these models have none."
    )
    dataloader_pin_memory: bool = option(torch.accelerator.is_available(), "Pin memory for copies to an accelerator.")
    accelerator_config: dict | str | None = field(
        default_factory=lambda: {"non_blocking": True} if torch.accelerator.is_available() else None,
        metadata={"help": "Settings of Accelerate; by default, copies to an accelerator are non-blocking."},
    )
    ema_decay: float = option(0.0, "Decay of the moving average of weights used at the end; 0: no averaging.")
    early_stopping_patience: int = option(0, "Stop after this many evaluations without improvement; 0: never.")
    resume_from_checkpoint: str | None = option(
        None, "The checkpoint folder to resume from; last: the last complete one."
    )
    disable_tqdm: bool | None = option(
        None, "Hide progress bars; by default, they are shown on a terminal and in a notebook only."
    )
    load_best_model_at_end: bool | None = option(
        None,
        "Keep the weights that are best on validation, instead of the last; by default, where there are "
        "evaluations to choose from, and other texts for the final scores.",
    )
    overwrite: bool = option(False, "Replace the existing run in the output folder.")

    RETIRED: ClassVar[Mapping[str, str]] = {"--precision": "use --bf16 True, on a CPU with --use_cpu True"}
    names_best_metric = False  # whether the user did: Trainer itself names the loss for some arguments

    def __post_init__(self: Any) -> None:
        check_numbers(self)
        check_supported(self)
        if not self.output_dir or "://" in self.output_dir:
            raise DataError(f"--output_dir {self.output_dir!r}: must be a local folder")
        best_by = (self.metric_for_best_model or "").removeprefix("eval_")
        self.names_best_metric = bool(best_by)
        if best_by and self.greater_is_better is None:
            from ..report.metrics import LOWER_IS_BETTER  # which imports libraries of metrics

            self.greater_is_better = False if best_by in LOWER_IS_BETTER else None  # None: as Trainer takes it
        if self.disable_tqdm is None:
            self.disable_tqdm = not (sys.stderr.isatty() or is_in_notebook()) or None
        with checking_arguments():
            super().__post_init__()  # type: ignore[misc]
        if missing := [name for name in self.report_to if name not in get_available_reporting_integrations()]:
            told = "its library is not installed; install it, or leave the option out"
            raise DataError(f"--report_to {missing[0]}: {told}")
        if not self.accelerator_config.use_seedable_sampler:
            raise DataError("--accelerator_config use_seedable_sampler=false: a resumed run could read other rows")
        self.logging_nan_inf_filter = False  # RunTrainer stops at a loss that is not finite, and has to see it
        if self.mixed_precision == "fp16" and self.device.type == "cpu":
            raise DataError("--fp16 requires a GPU; a CPU would train in float32: use --bf16 --use_cpu, or neither")


@dataclass
class EncoderTrainingArguments(RunArguments, TrainingArguments):
    """transformers.TrainingArguments with defaults for small encoders on a CPU."""

    weight_decay: float = option(0.01, "Weight decay, except for biases and norms.")
    warmup_steps: float = option(0.1, "Warm-up steps; below 1, a fraction of all steps.")
    eval_strategy: str = option("epoch", "When to evaluate.")
    save_strategy: str = option("epoch", "When to save a checkpoint.")
    save_total_limit: int | None = option(1, "The number of checkpoints to keep.")
    logging_steps: float = option(50, "Steps between log entries.")
    layer_decay: float = option(1.0, "Factor on the learning rate from each layer to the one below; 1: no decay.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.layer_decay <= 1:
            raise DataError(f"--layer_decay {self.layer_decay}: must be above 0 and at most 1, such as 0.9")


@dataclass
class HeadTrainingArguments(EncoderTrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU, and few texts."""

    learning_rate: float | None = option(
        None, "The peak learning rate of AdamW; by default 5e-3 for a new model, and 5e-5 for a checkpoint."
    )
    num_train_epochs: float | None = option(
        None, "The number of training epochs; by default 10, and up to 100 for a new model and few texts."
    )
    per_device_train_batch_size: int = option(16, "Training texts per step and device.")
    per_device_eval_batch_size: int = option(64, "Texts per evaluation batch.")


def inputs_of(*groups: Any) -> list[str]:
    """Return the inputs that the arguments of a run name, which must lie outside its folder."""
    values = [getattr(group, name, None) for group in groups for name in INPUTS]
    return [each for value in values for each in ([value] if isinstance(value, str) else value or ())]


def check_score(names: Sequence[str], arguments: Any) -> None:
    """Raise `DataError` for a score to choose by that evaluations do not have.

    names: of theirs, beside the loss; none where they are not known yet.
    """
    name = arguments.metric_for_best_model
    if names and arguments.names_best_metric and name.removeprefix("eval_") not in ("loss", *names):
        raise DataError(f"--metric_for_best_model {name}: the choices are {', '.join(('loss', *names))}")


def choose_epoch(task: Any, arguments: Any, data: Any) -> None:
    """Decide whether a run keeps the weights that are best on validation, or the last, and by which score.

    By default, it keeps the best ones if the task does and nothing prevents it. Raises `DataError` where they are asked
    for and cannot be kept.
    """
    check_score(task.score_names(data), arguments)
    needs = {
        "no --load_best_model_at_end False": arguments.load_best_model_at_end is not False,
        "--ema_decay 0": not getattr(arguments, "ema_decay", 0),
        "a test split for evaluation": "test" in data.splits or "test" not in task.evaluates,
        "an evaluation with each checkpoint (--eval_strategy and --save_strategy)": (
            arguments.eval_strategy == arguments.save_strategy != "no"
        ),
    }
    unmet = " and ".join(need for need, is_met in needs.items() if not is_met)
    asking = [name for name in ("early_stopping_patience", "load_best_model_at_end") if getattr(arguments, name)]
    if asking and unmet:
        raise DataError(f"--{asking[0]} requires {unmet}")
    arguments.load_best_model_at_end = not unmet and (task.keeps_best or bool(asking))
    if arguments.load_best_model_at_end:
        if arguments.eval_strategy == IntervalStrategy.STEPS:
            save_where_evaluated(arguments)
        if not arguments.names_best_metric:
            arguments.metric_for_best_model, arguments.greater_is_better = task.best(data, arguments)


def save_where_evaluated(arguments: TrainingArguments) -> None:
    """Save a checkpoint with each evaluation, so that the best one has its weights. A finer interval is kept."""
    evaluated, saved = arguments.eval_steps or 0, arguments.save_steps
    is_finer = (saved < 1) == (evaluated < 1) and saved <= evaluated and not evaluated % saved
    if not is_finer:
        arguments.save_steps = evaluated
        told = f"saving a checkpoint with each evaluation, every {evaluated} steps, instead of --save_steps {saved}"
        print(told, file=sys.stderr)
