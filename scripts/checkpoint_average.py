# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The mean of the weights of several checkpoints of one run (Vaswani et al. 2017, 6.1)."""

from collections.abc import Sequence
from pathlib import Path

import torch
from checkpoints import checkpoints_in, is_regular
from safetensors import safe_open
from text_files import DataError
from torch import Tensor
from transformers.utils import SAFE_WEIGHTS_NAME


def last_checkpoints(folder: Path, number: int) -> list[Path]:
    """The newest checkpoints of a run, oldest first; fewer where there are fewer; none that a stop has left."""
    return [checkpoint for checkpoint in checkpoints_in(folder) if is_regular(checkpoint)][-number:]


def average_weights(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """Name -> mean over the checkpoints, computed in float32; they have to hold the same names and shapes."""
    total: dict[str, Tensor] = {}
    for checkpoint in checkpoints:
        with safe_open(checkpoint / SAFE_WEIGHTS_NAME, framework="pt") as file:
            if total and set(file.keys()) != total.keys():
                raise DataError(f"{checkpoint} holds other weights than {checkpoints[0]}: not of the same run")
            for name in file.keys():  # noqa: SIM118 (it is no dictionary)
                weight = file.get_tensor(name)
                total[name] = total[name] + weight.float() if name in total else weight.float()
    return {name: weight / len(checkpoints) for name, weight in total.items()}


def load_weights(model: torch.nn.Module, weights: dict[str, Tensor]) -> None:
    """Into a model whose tied weights a checkpoint stores once."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = getattr(model, "all_tied_weights_keys", {})
    if unexpected or set(missing) - set(tied):
        raise DataError(f"the checkpoint lacks {sorted(set(missing) - set(tied))} and holds {unexpected} too much")
