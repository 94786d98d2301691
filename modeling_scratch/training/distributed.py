# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Runs of several processes: what Trainer leaves open where weights are sharded, or where a process is lost."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accelerate.accelerator import Accelerator
from accelerate.state import PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel, Trainer, TrainingArguments

from ..utils.errors import DataError, one_line

GONE = ("connection closed by peer", "connection reset by peer", "broken pipe", "connection refused", "timed out")


def shard_on_cpu(accelerator: Accelerator) -> None:
    """Make FSDP of what `accelerate launch` was told; on processors, Accelerate goes on with DDP in silence."""
    wanted = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    if wanted and accelerator.distributed_type == DistributedType.MULTI_CPU:
        for state in (PartialState(), accelerator.state):
            state.distributed_type = DistributedType.FSDP
        accelerator.state.fsdp_plugin = FullyShardedDataParallelPlugin()


def is_in_parts(model: Any) -> bool:
    """Whether this process has but its part of each weight, as with FSDP and ZeRO-3."""
    return any(isinstance(weight, DTensor) or hasattr(weight, "ds_id") for weight in model.parameters())


def whole_model(trainer: Trainer) -> PreTrainedModel:
    """The model of a run, for one process alone to call: where each has a part of it, as it was saved."""
    model: Any = trainer.model
    if not is_in_parts(model):
        return model
    family: Any = next(kind for kind in type(model).__mro__ if not issubclass(kind, FSDPModule))
    return family.from_pretrained(trainer.args.output_dir).eval()


def check_whole(trainer: Trainer, what: str) -> None:
    """Raises `DataError` where a process would have but a part of the model."""
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        raise DataError(f"{what} needs the whole model in each process: launch it with scripts/accelerate/ddp.yaml")


@contextmanager
def whole_weights(trainer: Trainer) -> Iterator[None]:
    """What is saved meanwhile is whole, also where checkpoints are in parts."""
    plugin: Any = getattr(trainer.accelerator.state, "fsdp_plugin", None)
    if plugin is None:
        yield
        return
    parts = plugin.state_dict_type
    plugin.set_state_dict_type("FULL_STATE_DICT")
    try:
        yield
    finally:
        plugin.set_state_dict_type(parts)


@contextmanager
def losing_none(arguments: TrainingArguments) -> Iterator[None]:
    """Where another process of the run is gone, say so in one line: raises `DataError`."""
    try:
        yield
    except RuntimeError as error:  # of gloo and NCCL, which have no type of their own for it
        if arguments.world_size == 1 or not any(sign in str(error).lower() for sign in GONE):
            raise
        raise DataError(
            f"another process of this run has ended, or cannot be reached ({one_line(error)[:200]}), and training has "
            "stopped; what it wrote is above, or on its machine. To go on, start all processes again with "
            "--resume_from_checkpoint last"
        ) from error
