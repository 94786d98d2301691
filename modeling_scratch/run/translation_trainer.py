# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The trainer of translations: smoothed labels without logits for padding, R-Drop, and two vocabularies."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn
from transformers import PreTrainedTokenizerBase, Seq2SeqTrainer, Trainer

from ..pipelines import TARGET_FOLDER
from .distributed import check_whole
from .r_drop import RDropTraining
from .trainer import SharingTrainer, TokenLoss, forget_last_call


class LabelSmoothing(Trainer):
    """Trainer whose model smooths the labels of its loss, so that `sparse_prediction` computes no logits for padding.

    Padding is a third of the target tokens where batches are grouped by the lengths of their sources.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_smoother = None  # that of Trainer takes the labels from the model

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        smoothing = self.args.label_smoothing_factor if model.training else 0.0
        smooths: Any = partial(model, smoothing=smoothing)
        return super().compute_loss(smooths, inputs, *args, **kwargs)


class TranslationTrainer(RDropTraining, LabelSmoothing, TokenLoss, SharingTrainer, Seq2SeqTrainer):
    """Seq2SeqTrainer that saves a separate target tokenizer. respell: from the collator to that of training batches."""

    def __init__(
        self,
        *args: Any,
        target_tokenizer: PreTrainedTokenizerBase | None = None,
        respell: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        check_whole(self, "translation")  # each process translates on its own
        self.target_tokenizer, self.respell = target_tokenizer, respell

    def train_collator(self) -> Any:
        collator = super().train_collator()
        return self.respell(collator) if self.respell else collator

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        """Save a complete checkpoint, including a separate target tokenizer."""
        super()._save(output_dir, state_dict)
        target = self.target_tokenizer
        if self.args.should_save and target not in (None, self.processing_class):
            forget_last_call(target)
            target.save_pretrained(Path(output_dir or self.args.output_dir or "") / TARGET_FOLDER)
