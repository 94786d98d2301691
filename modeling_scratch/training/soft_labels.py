# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Soft labels: texts whose labels are probabilities, such as the pseudo-labels of a teacher."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset, concatenate_datasets
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, Trainer

from ..data.encoded_texts import encode_texts
from .distributed import loss_scale


@dataclass(frozen=True)
class PseudoLabelled:
    """Texts, and the probabilities (texts, classes) that a teacher gave them."""

    texts: Sequence[str]
    probabilities: np.ndarray


def with_pseudo_labels(train: Dataset, added: PseudoLabelled, tokenizer: PreTrainedTokenizerBase) -> Dataset:
    """Return the encoded training texts and the added ones. All labels are probabilities: 1 for a given label."""
    given = np.eye(added.probabilities.shape[1], dtype=np.float32)[train["label"]]
    texts, _ = encode_texts(added.texts, tokenizer)
    both = concatenate_datasets([train.remove_columns("label"), texts])
    labels = np.concatenate((given, added.probabilities.astype(np.float32)))
    return concatenate_datasets([both, Dataset.from_dict({"label": labels})], axis=1)


class SoftLabels(Trainer):
    """Trainer with the loss -mean Σ_c q_c log p_c for labels q (B, C) that are probabilities (Hinton et al. 2015)."""

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """num_items_in_batch: the number of probabilities, as Trainer counts them: C per text."""
        if not has_probabilities(model, inputs.get("labels")):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        texts, classes = inputs["labels"].shape
        count = texts if num_items_in_batch is None else torch.as_tensor(num_items_in_batch) / classes
        losses, outputs = summed_cross_entropy(self, model, inputs)
        loss = losses / count * loss_scale(self, num_items_in_batch)
        return (loss, outputs) if return_outputs else loss


def summed_cross_entropy(
    trainer: Trainer, model: nn.Module, inputs: dict[str, Any], weights: Tensor | None = None
) -> tuple[Tensor, Any]:
    """Return the sum of the losses of the texts, with the trainer's label smoothing, and the model's outputs.

    labels: class indices (B,) or probabilities (B, C). weights (C,): of the classes.
    """
    labels = inputs["labels"]
    outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
    logits = outputs.logits.float()
    targets = labels.to(logits) if labels.is_floating_point() else labels
    smoothing = trainer.args.label_smoothing_factor
    return F.cross_entropy(logits, targets, weights, reduction="sum", label_smoothing=smoothing), outputs


def has_probabilities(model: Any, labels: Tensor | None) -> bool:
    """Return whether labels are probabilities of classes, one of which is right."""
    config = getattr(getattr(model, "module", model), "config", None)
    is_one = getattr(config, "problem_type", None) == "single_label_classification"
    return is_one and labels is not None and labels.is_floating_point() and labels.ndim == 2
