# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training batches without padding for accelerators, which nobody has to wait for to see where the texts are."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from text_files import DataError
from torch.utils.data import DataLoader
from transformers import DataCollatorWithFlattening, Trainer

from modeling_scratch import ScratchDecoderConfig, ScratchEncoderConfig

FAMILIES = ScratchEncoderConfig.model_type, ScratchDecoderConfig.model_type


class FlatBatches:
    """Texts one after another in one row, with the places where they end, and one label a text.

    The form is that of DataCollatorWithFlattening, whose labels are those of tokens.
    """

    def __init__(self) -> None:
        self.flatten = DataCollatorWithFlattening(return_flash_attn_kwargs=True)

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        batch = self.flatten([{"input_ids": row["input_ids"]} for row in features], return_tensors="pt")
        return {**batch, "labels": torch.tensor([row["label"] for row in features])}


class FlatTraining(Trainer):
    """Trainer that trains on FlatBatches where its arguments say so, or nothing and the device gains by it.

    It evaluates padded batches: the loss of an evaluation is a mean over rows, and each text has to be one.
    """

    def get_train_dataloader(self) -> DataLoader:
        padding = self.data_collator
        self.data_collator = FlatBatches() if self._flattens() else padding
        try:
            return super().get_train_dataloader()
        finally:
            self.data_collator = padding

    def _flattens(self) -> bool:
        """On a CPU models pack by themselves. Raises `DataError` where it is wanted and cannot be."""
        arguments, model = self.args, cast(Any, self.model)
        wanted: bool | None = getattr(arguments, "flat_batches", None)
        obstacle = None
        if getattr(model.config, "model_type", None) not in FAMILIES:
            obstacle = f"{type(model).__name__} would take all texts of a batch for one"
        elif arguments.n_gpu > 1:
            obstacle = "DataParallel cuts batches by rows, and there is one: start it by accelerate launch or torchrun"
        if wanted and obstacle:
            raise DataError(f"--flat_batches True: {obstacle}")
        if wanted is not None or obstacle:
            return bool(wanted)
        in_halves = arguments.bf16 or arguments.fp16  # graphs of others attend by a mask of the whole row
        return arguments.device.type == "cuda" and (in_halves or not arguments.torch_compile)
