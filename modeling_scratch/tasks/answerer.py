# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model that answers texts: a pipeline split into steps, so that texts of several requests can share a batch.

text -> `encode` -> job -> `run`, in batches -> answer -> `fields_of`. predict writes the fields, the server and the
demo send and show them.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, NamedTuple

from ..data.columns import is_missing
from ..data.text_pairs import of_parts, parts_of
from ..inference.arguments import UNKNOWN_WORDS, PredictArguments
from ..inference.batches import Job, in_batches, uncounted
from ..inference.rows import read_input
from ..inference.seen_words import read_seen_words, words_not_in
from ..utils.errors import first_few, panics_as_errors

MORE_THAN_ANY = 1_000  # limit of top_k; as in a pipeline, larger values return all labels
MOST_WORDS_NAMED = 10  # of those that the model has not seen
Answer = Any  # of the model to a text
FileRow = tuple[int, str, Mapping[str, Any]]  # of a file: its number, its text, and the columns to keep


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

    A text is a string, or a `TextPair` where a model reads two. One without a visible character has the answer None.
    """

    name: ClassVar[str]  # the route: that of its task
    summary: ClassVar[str]  # what it does
    unit: ClassVar[str] = "texts"  # what predict counts
    fields: ClassVar[tuple[str, ...]] = ("text",)  # the names of the texts that a model reads at a time
    takes: ClassVar[Sequence[str]] = ()  # of predict's options: those for some tasks alone
    text_columns: ClassVar[int] = 1  # how many names --text_column can have
    has_lines: ClassVar[bool] = False  # whether files of texts, one a line, can have any suffix, as in training
    asks: ClassVar[str] = "A text, or a list of texts."  # what a request has
    answers: ClassVar[Any]  # the type of the outputs for a text of a request
    is_always_list: ClassVar[bool] = False  # whether the outputs are a list also for one text, as the pipeline's
    column = "answer"  # of predict's output
    pipe: Any
    limits: dict[str, int] = field(default_factory=dict)  # the maxima of options of requests
    defaults: dict[str, Any] = field(default_factory=dict)  # options that requests do not override
    batch_size: int = field(default=32, kw_only=True)  # of `lines`
    empty: int = field(default=0, init=False)  # texts of files
    cut: int = field(default=0, init=False)
    unseen: Counter[str] = field(default_factory=Counter, init=False)  # texts with each word that is unknown
    progress: Callable[[int], object] = field(default_factory=lambda: uncounted, init=False)  # told how many are done

    @classmethod
    @abstractmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Answerer":
        """Load a saved model. limits: the most that a request of a server may ask for, by option."""

    @cached_property
    def known(self) -> frozenset[str]:
        """The words of the training; none where the tokenizer tells which are unknown."""
        return read_seen_words(getattr(self.pipe.model, "name_or_path", ""))

    @property
    def limit(self) -> int:
        """The number of tokens that the model reads of a text."""
        return getattr(self.pipe, "limit", None) or self.pipe.tokenizer.model_max_length

    # Texts

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        """Tokenise texts into jobs, None for empty texts. Raises `ValueError` if the tokenizer fails on a text.

        Several texts that are read together can be in a dictionary.
        """
        every = [each if isinstance(each, str) else of_parts([each[name] for name in self.fields]) for each in texts]
        are_visible = [not any(map(is_missing, parts_of(text))) for text in every]
        with panics_as_errors():
            found = iter(self.jobs_of(list(compress(every, are_visible)), options) if any(are_visible) else [])
        jobs = [next(found) if is_visible else None for is_visible in are_visible]
        for text, job in zip(every, jobs):
            if job and self.known:
                job.unseen = words_not_in(self.known, text)
        return jobs

    def jobs_of(self, texts: Sequence[str], options: Mapping[str, Any]) -> list[Job | None]:
        """Tokenise texts that have visible characters."""
        return [self.job_of(text, options) for text in texts]

    def job_of(self, text: str, options: Mapping[str, Any]) -> Job | None:
        """Tokenise a text; None if the tokenizer finds nothing in it."""
        raise NotImplementedError

    @abstractmethod
    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        """Return the answer to each job of a batch, the longest of which is the first."""

    def fields_of(self, answer: Answer | None, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of an answer. None: of an empty text."""
        return {self.column: answer}

    # Requests

    @property
    def options(self) -> Mapping[str, Option]:
        """The options of a request, beside its texts."""
        return {}

    def warming(self) -> Iterator[list[Job]]:
        """Yield batches that warm up the model, before a request comes."""
        texts = ["a", "b c"]
        yield list(filter(None, self.encode(texts if len(self.fields) == 1 else [dict(zip(self.fields, texts))], {})))

    def output(self, answer: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """Return what a server sends of the fields of an answer, as the pipeline has it."""
        return answer[self.column]

    def response(
        self, jobs: Sequence[Job | None], answers: Sequence[Answer], options: Mapping[str, Any], is_list: bool
    ) -> dict[str, Any]:
        """Return the response to the texts of a request. answers: with None for each None of the jobs."""
        rows = [self.fields_of(answer, options) for answer in answers]
        found = {
            "outputs": [self.output(row, options) for row in rows],
            "truncated": [job is not None and job.truncated for job in jobs],
            **{name: [row[column] for row in rows] for name, (column, _) in self.added.items()},
        }
        unseen = [list(job.unseen) if job else [] for job in jobs]
        found |= {UNKNOWN_WORDS: unseen} if any(unseen) else {}
        if is_list:
            return found
        one = {name: values[0] for name, values in found.items()}
        return {**one, "outputs": found["outputs"]} if self.is_always_list else one

    @property
    def added(self) -> dict[str, tuple[str, Any]]:
        """The further fields of a response: their columns and types."""
        return {}

    # Rows of files

    @classmethod
    def name_columns(cls, arguments: PredictArguments) -> None:
        """Find the column of texts, and print it. Raises `DataError` for a table without one."""
        arguments.name_columns(len(cls.fields) > 1, cls.has_lines)

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        """Return the columns of predict's output behind the row and the kept ones. answerer: None before it loads."""
        return [*(cls.fields if arguments.with_text else ()), cls.column]

    @classmethod
    def rows(cls, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream the rows of the input."""
        return read_input(arguments)

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        """Return the answers to rows, with the values of all columns. Batched by length, longest first."""
        jobs = self.read([text for _, text, _ in rows])
        limits = self.batch_size, self.pipe.device
        # The fields of an answer are made in its batch: the scores of all classes of all texts would take much memory.
        answers = in_batches(jobs, lambda job: job.tokens, self._answer, *limits, self.progress)
        for (row, text, kept), job, answer in zip(rows, jobs, answers):
            unseen = {UNKNOWN_WORDS: list(job.unseen)} if job and job.unseen else {}
            fields = answer or self.fields_of(None, self.defaults)
            yield {**dict(zip(self.fields, parts_of(text))), **unseen, **fields, **kept, "row": row}

    def _answer(self, batch: Sequence[Job]) -> list[dict[str, Any]]:
        return [self.fields_of(answer, self.defaults) for answer in self.run(batch)]

    def read(self, texts: Sequence[str]) -> list[Job | None]:
        """Tokenise the texts of a file, and count those that are empty or cut, and unknown words."""
        jobs = self.encode(texts, {})
        self.empty += jobs.count(None)
        self.cut += sum(job.truncated for job in jobs if job)
        self.unseen.update(word for job in jobs if job for word in job.unseen)
        return jobs

    @property
    def counts(self) -> dict[str, int]:
        """What was counted, in words."""
        words = first_few([word for word, _ in self.unseen.most_common()], MOST_WORDS_NAMED)
        return {f"words that the model has not seen ({words})": len(self.unseen)}


def record_settings(config: Any, task: str, **settings: Any) -> None:
    """Record the arguments of the pipeline that a model was trained and evaluated with."""
    others = getattr(config, "task_specific_params", None) or {}
    config.task_specific_params = {**others, task: settings}


def recorded_settings(config: Any, task: str) -> dict[str, Any]:
    """Return what a model's configuration records of the pipeline of a task; nothing of an invalid record."""
    every = getattr(config, "task_specific_params", None)
    found = every.get(task) if isinstance(every, dict) else None
    return found if isinstance(found, dict) else {}
