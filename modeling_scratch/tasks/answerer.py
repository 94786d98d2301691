# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model that answers texts: a pipeline split into steps, so that texts of several requests can share a batch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from ..data.columns import is_missing
from ..fast.text_classification import batches_by_length
from ..utils.errors import DataError, panics_as_errors
from .requests import Inputs, Option, Schema, one_or_several, record

MORE_THAN_ANY = 1_000  # limit of top_k; as in a pipeline, larger values return all labels
Answer = list[dict[str, Any]]  # to a text, the best first


def check_finite(*logits: torch.Tensor) -> None:
    """Raise `DataError` for logits that are no numbers."""
    if not all(each.isfinite().all() for each in logits):
        raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")


def untold(texts: int) -> None:
    """Show no progress."""


@dataclass(eq=False)
class Job:
    """One text for the model. Jobs with equal `options` can share a batch. Cancelling `answer` cancels the job."""

    features: dict[str, Any]
    tokens: int
    truncated: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    unseen: Sequence[str] = ()
    answer: Future = field(default_factory=Future)


@dataclass
class Answerer(ABC):
    """texts -> jobs -> answers, each equal to `pipeline(text, truncation=True)`.

    A text without a visible character has an empty answer, as from `modeling-scratch predict` and `generate`.

    name: the route, and summary: what it does. limits: the maxima of options of requests. defaults: arguments of the
    model that requests do not override. batch_size: of `answer`, which counts the texts that are empty or cut, and
    tells `progress` how many are answered.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    pipe: Any
    limits: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, int] = field(default_factory=dict)
    batch_size: int = field(default=32, kw_only=True)
    empty: int = field(default=0, init=False)
    cut: int = field(default=0, init=False)
    progress: Callable[[int], object] = field(default_factory=lambda: untold, init=False)

    @property
    def options(self) -> Mapping[str, Option]:
        """The options of a request, beside its texts."""
        return {}

    @property
    @abstractmethod
    def answers(self) -> Schema:
        """The JSON schema of a response: to one text, or to a list of them."""

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        """The form of the texts in a request."""
        return Inputs(max_texts, max_characters)

    @property
    def samples(self) -> list[Any]:
        """Inputs that warm up the model."""
        return ["a", "b c"]

    @property
    def no_answer(self) -> Answer:
        """The answer to an empty text."""
        return []

    def is_empty(self, text: Any) -> bool:
        """Return whether a text has no visible character."""
        return isinstance(text, str) and is_missing(text)

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        """Tokenise texts into jobs, None for empty texts. Raises `ValueError` if the tokenizer fails on a text."""
        with panics_as_errors():
            return [None if self.is_empty(text) else self._encode(text, options) for text in texts]

    def answer(self, texts: Sequence[Any]) -> list[Answer]:
        """Return the answer to each text. Batched by length, longest first."""
        jobs = self.encode(texts, {})
        places = [place for place, job in enumerate(jobs) if job]
        chosen, answers = [job for job in jobs if job], [self.no_answer for _ in jobs]
        self.empty += len(jobs) - len(chosen)
        self.cut += sum(job.truncated for job in chosen)
        self.progress(len(jobs) - len(chosen))
        for batch in batches_by_length([job.tokens for job in chosen], self.batch_size, self.pipe.device):
            for number, answer in zip(batch, self.run([chosen[number] for number in batch])):
                answers[places[number]] = answer
            self.progress(len(batch))
        return answers

    @property
    def counts(self) -> dict[str, int]:
        """What `answer` counted, in words."""
        return {}

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        """Tokenise a text."""
        raise NotImplementedError

    @abstractmethod
    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        """Return the answer to each job of a batch, the longest of which is the first."""

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return the outputs for the answers to the texts of a request: of one text, or of a list."""
        return list(answers) if is_list else answers[0]

    def added(
        self, jobs: Sequence[Job | None], answers: Sequence[Answer], options: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return further fields of a response, with a value for each text. jobs: None for empty texts."""
        return {}


def response(outputs: Schema, added: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a response. added: the fields that only some requests ask for."""
    return record({"outputs": outputs, "truncated": one_or_several({"type": "boolean"})}, added)
