# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serve taggers: the entities of a text, or the label of each word, as `modeling-scratch predict` writes them."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from transformers import AutoModelForTokenClassification

from ..inference.arguments import PredictArguments
from ..inference.loading import load_head, set_length
from ..inference.tagging import Tagger
from .batches import Job
from .interface import AnyOption, Schema, array, one_or_several, record
from .task import Answer, Task, response


@dataclass
class Tagging(Task):
    """Entities or words, each with its label, score and place."""

    name: ClassVar[str] = "tag"
    summary: ClassVar[str] = "Find the entities of texts, or label their words. start and end count characters."
    tagger: Tagger = field(kw_only=True)

    @cached_property
    def counter(self) -> Any:
        """A copy of the tokenizer, as that of the tagger changes how it truncates while the model runs."""
        return copy.deepcopy(self.pipe.tokenizer)

    @property
    def options(self) -> Mapping[str, AnyOption]:
        return {}

    @property
    def answers(self) -> Schema:
        kinds = {"text": "string", "label": "string", "score": "number", "start": "integer", "end": "integer"}
        fields: dict[str, Schema] = {name: {"type": kind} for name, kind in kinds.items()}
        for name in ("label", "score"):  # words beyond the limit have none
            fields[name] = {"anyOf": [fields[name], {"enum": [None]}]}
        return response(one_or_several(array(record(fields))))

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        ids = self.counter(text, verbose=False)["input_ids"]
        if self.tagger.finds_entities:  # in windows, which cut nothing
            return Job({"input_ids": ids, "text": text}, len(ids))
        limit = self.tagger.limit
        return Job({"input_ids": ids, "text": text}, min(len(ids), limit), len(ids) > limit)

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return self.tagger.tag([job.features["text"] for job in jobs])

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        return list(answers) if is_list else answers[0]


def load_tagging(name: str, device: str | None, trust_remote_code: bool) -> Tagging:
    arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
    model, tokenizer = load_head(arguments, AutoModelForTokenClassification, "not a trained tagger")
    set_length(arguments, tokenizer, model.config)
    tagger = Tagger(model, tokenizer)
    return Tagging(tagger.pipe, tagger=tagger)
