# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Arguments that every training program adds to TrainingArguments, or whose defaults it changes."""

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import torch
from transformers.utils import is_in_notebook, is_liger_kernel_available

from ..utils.errors import DataError, one_line
from .callbacks import check_patience

# The least and the greatest value of arguments of which Trainer accepts others, and stops late or ignores them.
BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(["learning_rate", "weight_decay", "max_grad_norm", "num_train_epochs"], (0, math.inf)),
    **dict.fromkeys(["logging_steps", "eval_steps", "save_steps", "save_total_limit", "eval_delay"], (0, math.inf)),
    **dict.fromkeys(["neftune_noise_alpha", "dataloader_num_workers"], (0, math.inf)),
    **dict.fromkeys(["per_device_train_batch_size", "per_device_eval_batch_size"], (1, math.inf)),
    **dict.fromkeys(["gradient_accumulation_steps", "eval_accumulation_steps"], (1, math.inf)),
    **dict.fromkeys(["seed", "data_seed"], (0, 2**32 - 1)),
    "label_smoothing_factor": (0, 1),
    "max_steps": (-1, math.inf),
}


def check_numbers(arguments: Any) -> None:
    """Raise `DataError` for a number that is not finite or not within its bounds."""
    for name in (each.name for each in fields(arguments)):
        value = getattr(arguments, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise DataError(f"--{name} {value}: must be a finite number")
        least, most = BOUNDS.get(name, (-math.inf, math.inf))
        if value is not None and name in BOUNDS and not least <= value <= most:
            limit = f"at least {least}" if value < least else f"at most {most}"
            raise DataError(f"--{name} {value}: must be {limit}")
    if arguments.save_steps == 0 and arguments.save_strategy != "no":
        raise DataError("--save_steps 0: must be above 0; --save_strategy no saves no checkpoints")


def check_rates(decay: float, embedding_rate: float | None) -> None:
    if not 0 < decay <= 1:
        raise DataError(f"--layer_decay {decay}: must be above 0 and at most 1, such as 0.9")
    if embedding_rate is not None and not 0 < embedding_rate < float("inf"):
        raise DataError(f"--embedding_learning_rate {embedding_rate}: must be above 0, such as 3e-3")


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


def has_fast_bfloat16(is_cpu: bool) -> bool:
    """Return whether the device has instructions for products in bfloat16: AVX512-BF16, AMX, or CUDA from Ampere on."""
    if not is_cpu:
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # torch 2.11 cannot tell
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


@dataclass
class RunArguments:
    """Mix-in that precedes TrainingArguments in the bases of a program's arguments."""

    do_train: bool = field(default=True, metadata={"help": "Must be True; use predict and generate for inference."})
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "Search for parameters without gradient; these models have none."}
    )
    dataloader_pin_memory: bool = field(
        default=torch.accelerator.is_available(), metadata={"help": "Pin memory for copies to an accelerator."}
    )
    accelerator_config: dict | str | None = field(
        default_factory=lambda: {"non_blocking": True} if torch.accelerator.is_available() else None,
        metadata={"help": "Settings of Accelerate; by default, copies to an accelerator are non-blocking."},
    )
    precision: Literal["auto"] | None = field(
        default=None,
        metadata={
            "help": "auto: compute matrix products in bfloat16, as --bf16 does, where the device has instructions for "
            "it. The weights stay in float32."
        },
    )
    texts_in_card: bool = field(
        default=False,
        metadata={
            "help": "Quote texts of the evaluated split, with the answers, in what a push uploads: the card, "
            "results.md, evaluation.json and verify.json."
        },
    )
    early_stopping_patience: int = field(
        default=0,
        metadata={"help": "Stop after this many evaluations without improvement; 0: never."},
    )
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "The checkpoint folder to resume from; last: the last complete one."}
    )
    disable_tqdm: bool | None = field(
        default=None,
        metadata={"help": "Hide progress bars; by default, they are shown on a terminal and in a notebook only."},
    )
    load_best_model_at_end: bool | None = field(
        default=None,
        metadata={
            "help": "Keep the weights that are best on validation, instead of the last; by default, where there are "
            "evaluations to choose from, and other texts for the final scores."
        },
    )
    overwrite: bool = field(default=False, metadata={"help": "Replace the existing run in the output folder."})

    names_best_metric = False  # whether the user did: Trainer itself names the loss for some arguments

    def __post_init__(self) -> None:
        check_numbers(self)
        output: str | None = self.output_dir  # type: ignore[attr-defined]
        if not output or "://" in output:
            raise DataError(f"--output_dir {output!r}: must be a local folder")
        if self.use_liger_kernel and not is_liger_kernel_available():  # type: ignore[attr-defined]
            raise DataError("--use_liger_kernel requires another package: pip install liger-kernel")
        self._choose_precision()
        self._note_best_metric()
        if self.disable_tqdm is None:
            self.disable_tqdm = not (sys.stderr.isatty() or is_in_notebook()) or None
        with checking_arguments():
            super().__post_init__()  # type: ignore[misc]
        if self.device.type != "cpu":  # type: ignore[attr-defined]
            self.logging_nan_inf_filter = False  # Trainer's check of each loss; see RunTrainer
        if self.mixed_precision == "fp16" and self.device.type == "cpu":  # type: ignore[attr-defined]
            raise DataError("--fp16 requires a GPU; a CPU would train in float32: use --bf16 --use_cpu, or neither")
        check_patience(self.early_stopping_patience)
        if not self.do_train:
            raise DataError(
                "--do_train False is not supported; use `modeling-scratch predict` or `modeling-scratch generate`"
            )

    def _note_best_metric(self) -> None:
        """Set greater_is_better, which Trainer takes to be True for every score but a loss."""
        name: str | None = self.metric_for_best_model  # type: ignore[attr-defined]
        self.names_best_metric = name is not None
        if name and self.greater_is_better is None:  # type: ignore[has-type]
            from ..report.metrics import NUMBERS  # which imports libraries of metrics

            errors = {score.name for score in NUMBERS.scores if not score.greater_is_better}
            self.greater_is_better = False if name.removeprefix("eval_") in errors else None

    def _choose_precision(self) -> None:
        """Set bf16, and use_cpu where there is only a CPU, as Trainer requires both for bfloat16."""
        if self.precision is None:
            return
        if self.fp16:  # type: ignore[attr-defined]
            raise DataError("--precision auto and --fp16 exclude each other; give only one")
        is_cpu = self.use_cpu or not torch.accelerator.is_available()  # type: ignore[has-type]
        if has_fast_bfloat16(is_cpu):
            self.bf16, self.use_cpu = True, is_cpu
