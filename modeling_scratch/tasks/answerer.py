# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model that answers texts: a pipeline split into steps, so that texts of several requests can share a batch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..data.columns import is_missing
from ..inference.arguments import PredictArguments
from ..inference.batches import Job, in_batches, uncounted
from ..inference.rows import read_input
from ..utils.errors import panics_as_errors

MORE_THAN_ANY = 1_000  # limit of top_k; as in a pipeline, larger values return all labels
Answer = Any  # to a text: a dictionary, or a list of them, the best first
FileRow = tuple[Any, ...]  # of a file: its number, its text, others, and last the columns to keep


class Option(NamedTuple):
    """A number in a request, from `low` to `high`, or one of these words."""

    told: str
    low: int
    high: int
    kind: type = int
    words: tuple[str, ...] = ()


@dataclass
class Answerer(ABC):
    """texts -> jobs -> answers, each equal to `pipeline(text, truncation=True)`.

    A text without a visible character has an empty answer, as from `modeling-scratch predict` and `generate`.
    """

    name: ClassVar[str]  # the route
    summary: ClassVar[str]  # what it does
    unit: ClassVar[str] = "texts"  # what predict counts
    fields: ClassVar[tuple[str, ...]] = ("text",)  # the names of the texts that a model reads at a time
    asks: ClassVar[str] = "A text, or a list of texts."  # what a request has
    answers: ClassVar[Any]  # the type of the outputs for a text of a request
    column = "answer"  # of predict's output
    no_answer: ClassVar[Answer] = []  # to an empty text
    pipe: Any
    limits: dict[str, int] = field(default_factory=dict)  # the maxima of options of requests
    defaults: dict[str, int] = field(default_factory=dict)  # arguments of the model that requests do not override
    batch_size: int = field(default=32, kw_only=True)  # of `answer`
    empty: int = field(default=0, init=False)  # texts of files
    cut: int = field(default=0, init=False)
    progress: Callable[[int], object] = field(default_factory=lambda: uncounted, init=False)  # told how many are done

    @classmethod
    @abstractmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Answerer":
        """Load a saved model. limits: the most that a request of a server may ask for, by option."""

    @property
    def limit(self) -> int:
        """The number of tokens that the model reads of a text."""
        return getattr(self.pipe, "limit", None) or self.pipe.tokenizer.model_max_length

    # Texts of requests

    @property
    def options(self) -> Mapping[str, Option]:
        """The options of a request, beside its texts."""
        return {}

    def warming(self) -> Iterator[list[Job]]:
        """Yield batches that warm up the model, before a request comes."""
        texts = ["a", "b c"]
        yield list(filter(None, self.encode(texts if len(self.fields) == 1 else [dict(zip(self.fields, texts))], {})))

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        """Tokenise texts into jobs, None for empty texts. Raises `ValueError` if the tokenizer fails on a text."""
        with panics_as_errors():
            return [
                None if isinstance(text, str) and is_missing(text) else self._encode(text, options) for text in texts
            ]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job | None:
        """Tokenise a text; None if the tokenizer finds nothing in it."""
        raise NotImplementedError

    @abstractmethod
    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        """Return the answer to each job of a batch, the longest of which is the first."""

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return the outputs for the answers to the texts of a request: of one text, or of a list."""
        return list(answers) if is_list else answers[0]

    @property
    def added_answers(self) -> dict[str, Any]:
        """The types of further fields of a response."""
        return {}

    def added(
        self, jobs: Sequence[Job | None], answers: Sequence[Answer], options: Mapping[str, Any]
    ) -> dict[str, list[Any]]:
        """Return further fields of a response, with a value for each text. jobs: None for empty texts."""
        return {}

    # Rows of files

    @classmethod
    def refused(cls, arguments: PredictArguments) -> dict[str, Any]:
        """Return the options of predict that have no use here, and whether they are given."""
        given: dict[str, Any] = {"--threshold": arguments.threshold is not None, "--top_k": arguments.top_k}
        return {**given, "--text_column with two names": arguments.has_pairs}

    @classmethod
    def name_columns(cls, arguments: PredictArguments) -> None:
        """Find the column of texts, and print it. Raises `DataError` for a table without one."""
        if len(cls.fields) == 1:
            arguments.name_columns()

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        """Return the columns of predict's output behind the row and the kept ones. answerer: None before it loads."""
        return [*(cls.fields if arguments.with_text else ()), cls.column]

    @classmethod
    def rows(cls, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream the rows of the input."""
        return read_input(arguments)

    @property
    def classes(self) -> Sequence[str]:
        """The names of the classes, if the last column of predict's output has those."""
        return ()

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        """Return the answers to rows, with the values of all columns."""
        for (row, text, kept), answer in zip(rows, self.answer([text for _, text, _ in rows])):
            fields = text if isinstance(text, dict) else {"text": text}
            yield {**fields, self.column: answer, **kept, "row": row}

    def answer(self, texts: Sequence[Any]) -> list[Answer]:
        """Return the answer to each text. Batched by length, longest first."""
        jobs = self.encode(texts, {})
        self.count(jobs)
        limits = self.batch_size, self.pipe.device
        answers = in_batches(jobs, lambda job: job.tokens, self.run, *limits, self.progress)
        return [self.no_answer if answer is None else answer for answer in answers]

    def count(self, jobs: Sequence[Job | None]) -> None:
        """Count the texts of a file that are empty or cut."""
        self.empty += jobs.count(None)
        self.cut += sum(job.truncated for job in jobs if job)

    @property
    def counts(self) -> dict[str, int]:
        """What was counted, in words."""
        return {}


def record_settings(config: Any, task: str, **settings: Any) -> None:
    """Record the arguments of the pipeline that a model was trained and evaluated with."""
    others = getattr(config, "task_specific_params", None) or {}
    config.task_specific_params = {**others, task: settings}


def recorded_settings(config: Any, task: str) -> dict[str, Any]:
    """Return what a model's configuration records of the pipeline of a task; nothing of an invalid record."""
    every = getattr(config, "task_specific_params", None)
    found = every.get(task) if isinstance(every, dict) else None
    return found if isinstance(found, dict) else {}
