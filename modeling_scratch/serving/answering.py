# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serve models that answer questions on contexts, which are read in windows."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from transformers import AutoModelForQuestionAnswering

from ..inference.arguments import PredictArguments
from ..inference.loading import load_head
from ..inference.question_answering import Reader
from ..tasks.answerer import MORE_THAN_ANY, Answer, Answerer, Job, response
from ..tasks.requests import AnyOption, Inputs, Option, Pairs, Schema, array, record

FIELDS = "question", "context"
EXAMPLES = "Who built it?", "It was built by Eiffel."


@dataclass
class Answering(Answerer):
    """Questions on contexts -> jobs -> answers, each equal to `pipe(question=..., context=...)`.

    A job has the windows of a context. What its model's configuration records is how it is asked.
    """

    name: ClassVar[str] = "answer"
    summary: ClassVar[str] = (
        "Answer questions. An answer is a piece of the context, with its probability and its place."
    )
    reader: Reader = field(kw_only=True)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def options(self) -> Mapping[str, AnyOption]:
        return {"top_k": Option("The number of answers to a question, best first.", 2, 1, self.limits["top_k"])}

    @property
    def answers(self) -> Schema:
        kinds = {"score": "number", "start": "integer", "end": "integer", "answer": "string"}
        answer = record({name: {"type": kind} for name, kind in kinds.items()})
        return response({"anyOf": [answer, array(answer), array(array(answer))]})

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        told = "A question with its context, or a list of these."
        return Pairs(max_texts, max_characters, FIELDS, told, EXAMPLES)

    @property
    def samples(self) -> list[Any]:
        return [dict(zip(FIELDS, ("a", "b c")))]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        with self.lock:  # each call changes how the tokenizer truncates, and requests are encoded in threads
            windows = self.reader.windows(**text)
            question = self.pipe.tokenizer(text["question"], add_special_tokens=False, verbose=False)["input_ids"]
        ids = [token for window in windows for token in window["encoding"].ids]
        sides = [window["encoding"].sequence_ids for window in windows]
        if not any(1 in each for each in sides):
            raise ValueError(f"context: {text['context'][:40]!r} gives no tokens that could be an answer")
        features = {"input_ids": ids, "windows": windows}
        return Job(features, len(ids), sides[0].count(0) < len(question), (("top_k", options.get("top_k", 1)),))

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return self.reader.answer([job.features["windows"] for job in jobs], **dict(jobs[0].options))

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Format answers as the pipeline does: a list for each question if several are asked for."""
        best = [answer[0] if options.get("top_k", 1) == 1 else answer for answer in answers]
        return best if is_list else best[0]


def load_answering(name: str, device: str | None, trust_remote_code: bool) -> Answering:
    arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
    reader = Reader(*load_head(arguments, AutoModelForQuestionAnswering, "not trained to answer questions"))
    return Answering(reader.pipe, {"top_k": MORE_THAN_ANY}, reader=reader)
