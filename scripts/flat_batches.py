# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training batches without padding for accelerators, which nobody has to wait for to see where the texts are."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import DataCollatorWithFlattening, Trainer

from modeling_scratch.modeling_base import ScratchPreTrainedModel


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
        """On a CPU models pack by themselves; DataParallel, which cuts batches by rows, has one row alone."""
        if self.args.n_gpu > 1 or not isinstance(self.model, ScratchPreTrainedModel):
            return False
        wanted: bool | None = getattr(self.args, "flat_batches", None)
        return self.args.device.type == "cuda" if wanted is None else wanted
