# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Distributed runs: sharded weights and lost processes, beyond what Trainer handles."""

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
    """Enable FSDP on CPUs if `accelerate launch` requests it; Accelerate silently falls back to DDP there."""
    is_requested = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    if is_requested and accelerator.distributed_type == DistributedType.MULTI_CPU:
        for state in (PartialState(), accelerator.state):
            state.distributed_type = DistributedType.FSDP
        accelerator.state.fsdp_plugin = FullyShardedDataParallelPlugin()


def is_sharded(model: Any) -> bool:
    """Return whether this process holds only a shard of each weight, as with FSDP and ZeRO-3."""
    return any(isinstance(weight, DTensor) or hasattr(weight, "ds_id") for weight in model.parameters())


def whole_model(trainer: Trainer) -> PreTrainedModel:
    """Return the complete model for use in one process. If the weights are sharded, load the saved model."""
    model: Any = trainer.model
    if not is_sharded(model):
        return model
    family: Any = next(kind for kind in type(model).__mro__ if not issubclass(kind, FSDPModule))
    return family.from_pretrained(trainer.args.output_dir).eval()


def reshard(model: Any) -> None:
    """Return to the shards of FSDP2, which alone can be modified: a forward pass may leave whole weights in place."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


@contextmanager
def whole_weights(trainer: Trainer) -> Iterator[None]:
    """Save full state dicts inside this context, even if checkpoints are sharded."""
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
def reporting_lost_processes(arguments: TrainingArguments) -> Iterator[None]:
    """Raise a one-line `DataError` if another process of the run is lost."""
    try:
        yield
    except RuntimeError as error:  # gloo and NCCL have no specific type
        if arguments.world_size == 1 or not any(sign in str(error).lower() for sign in GONE):
            raise
        raise DataError(
            f"another process of this run has ended or is unreachable ({one_line(error)[:200]}); training stopped. "
            "Its messages are above or on its machine. To resume, restart all processes with "
            "--resume_from_checkpoint last"
        ) from error
