# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Fill the gap of a text: what an encoder does that was pretrained on masked tokens."""

from dataclasses import replace
from typing import Any

from transformers import AutoModelForMaskedLM, pipeline

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import token_limit
from ..inference.arguments import PredictArguments
from ..inference.loading import load_head
from ..utils.errors import DataError
from .base import Task
from .card import Card, Use
from .page import Page

MOST_ANSWERS = 5


CARD = Card(
    "An encoder pretrained on masked language modelling, for fine-tuning.",
    Use("fill-mask", "fill-mask", "AutoModelForMaskedLM", given='{text} + " " + {tokenizer}.mask_token'),
)


class MaskPage(Page):
    """Texts with a mask -> the most likely tokens."""

    outputs = (("Label", {"label": "Answer"}),)

    def __init__(self, task: Task, arguments: PredictArguments) -> None:
        self.action = task.name
        arguments = replace(arguments, allow_special_tokens=True)  # the mask is one
        model, tokenizer = load_head(arguments, AutoModelForMaskedLM, "no trained head")
        self.pipe: Any = pipeline("fill-mask", model=model, tokenizer=tokenizer, device=model.device)
        self.hint = f"Write `{tokenizer.mask_token}` once, for the missing word."

    def check(self, most: int, *texts: str) -> None:
        super().check(most, *texts)
        tokenizer, limit = self.pipe.tokenizer, token_limit(self.pipe.tokenizer, self.pipe.model.config)
        length = len(tokenizer(texts[0], verbose=False)["input_ids"])
        if NO_LIMIT > limit < length:
            raise DataError(f"text: {length:,} tokens exceed the model's limit of {limit:,}; shorten it")
        if (count := texts[0].count(tokenizer.mask_token)) != 1:
            raise DataError(f"text: has {tokenizer.mask_token} {count} times; write it once, for the missing word")

    def answer(self, *values: Any) -> list[Any]:
        found = reversed(self.pipe(values[0], top_k=MOST_ANSWERS))
        return [{each["token_str"]: each["score"] for each in found}, ""]


class Filling(Task):
    name, card, page, explained = "fill", CARD, MaskPage, "masked"
    refusal = "the model fills gaps; fine-tune it first, such as by `modeling-scratch train-classifier`"
    not_generated = "it fills gaps; pretrain a decoder: modeling-scratch pretrain --objective clm"


TASK = Filling()
