# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Arguments that every training program adds to TrainingArguments, or whose defaults it changes."""

from dataclasses import dataclass, field

import torch

from ..utils.errors import DataError
from .callbacks import check_patience


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
    early_stopping_patience: int = field(
        default=0,
        metadata={"help": "Stop after this many evaluations without improvement; 0: never."},
    )
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "The checkpoint folder to resume from; last: the last complete one."}
    )
    overwrite: bool = field(default=False, metadata={"help": "Delete the existing run in the output folder."})

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        check_patience(self.early_stopping_patience)
        if not self.do_train:
            raise DataError(
                "--do_train False is not supported; use `modeling-scratch predict` or `modeling-scratch generate`"
            )
