# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The arguments that every training program adds to those of the library, or has other defaults for."""

from dataclasses import dataclass, field

import torch

from ..utils.errors import DataError
from .callbacks import check_patience


@dataclass
class RunArguments:
    """Stands before TrainingArguments, or what is made of it, among the bases of a program's own."""

    do_train: bool = field(default=True, metadata={"help": "This program trains; predict.py and generate.py do not."})
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "Look for weights without gradient; these models have none."}
    )
    dataloader_pin_memory: bool = field(
        default=torch.accelerator.is_available(), metadata={"help": "Pin memory, for an accelerator to copy from."}
    )
    accelerator_config: dict | str | None = field(
        default_factory=lambda: {"non_blocking": True} if torch.accelerator.is_available() else None,
        metadata={"help": "Of accelerate; copies to an accelerator are not waited for if not given."},
    )
    early_stopping_patience: int = field(
        default=0,
        metadata={"help": "Stop after so many evaluations in a row that are no better than the best; 0: never."},
    )
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "last: go on from the last whole checkpoint of the run; or the folder of one."}
    )
    overwrite: bool = field(default=False, metadata={"help": "Delete the run that the output folder holds."})

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        check_patience(self.early_stopping_patience)
        if not self.do_train:
            raise DataError("--do_train False: this program trains; predict.py and generate.py use what is trained")
