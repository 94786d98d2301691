# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretrain on plain text: masked tokens, next tokens or denoising. The objective says what the model then does."""

from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedModel, Trainer

from .. import presets
from ..data.documents import DocumentArguments, Documents, load_documents
from ..run.life_cycle import Run
from ..run.objectives import PretrainingModelArguments, build_model, build_tokenizer
from ..run.pretraining import PretrainingArguments, start
from ..tasks import PRETRAIN
from ..utils.markdown import escaped, table
from . import fill, write
from .base import Comparison, Metric, Results, Task, Use

REWRITTEN = write.CONTINUED.replace("text, ", "text, truncation=True, ")
DENOISED = "An encoder-decoder pretrained on denoising, for fine-tuning."
# The purpose and the use of a model by its objective.
CARDS = {
    "mlm": (fill.TASK.purpose, fill.TASK.use),
    "clm": (write.TASK.purpose, write.TASK.use),
    "denoising": (DENOISED, Use(None, "seq2seq-generation", "AutoModelForSeq2SeqLM", REWRITTEN)),
}


class Pretraining(Task):
    name = PRETRAIN
    arguments = PretrainingModelArguments, DocumentArguments, PretrainingArguments
    lab = Comparison(presets.DECODERS, "loss", ("perplexity",), "--objective clm --validation_fraction 0.05")

    read = staticmethod(load_documents)

    def build_tokenizer(self, options: PretrainingModelArguments, data: Documents, checkpoint: str | None) -> Any:
        return build_tokenizer(options, data.train, checkpoint)

    def build_model(self, options: PretrainingModelArguments, data: Documents, tokenizer: Any) -> PreTrainedModel:
        return build_model(options, tokenizer)

    def fit(self, run: Run, data: Documents, tokenizer: Any) -> Trainer:
        trainer, _ = start(run, data, tokenizer)
        run.train(trainer)
        return trainer

    def purpose_of(self, record: Mapping[str, Any]) -> str:
        return CARDS[record["model"]["objective"]][0]

    def use_of(self, record: Mapping[str, Any]) -> Use:
        return CARDS[record["model"]["objective"]][1]

    def results(self, evaluation: Mapping[str, Any]) -> Results:
        """Report loss and perplexity with their definitions."""
        scores = evaluation["scores"]
        rows = [[name.replace("_", " "), f"{score['value']:.4f}", score["meaning"]] for name, score in scores.items()]
        definition = f"perplexity: exp of {scores['loss']['meaning']}"
        metric = Metric("perplexity", scores["perplexity"]["value"], definition, "validation")
        where = f"On {escaped(evaluation['text'])}, with a context of at most {evaluation['context']} tokens:"
        return Results(f"{where}\n\n{table(['score', '', 'definition'], rows)}", [metric], evaluation["example"])


TASK = Pretraining()
