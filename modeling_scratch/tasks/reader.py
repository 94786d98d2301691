# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The answers to questions: pieces of their contexts, which a model reads in windows."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from transformers import AutoModelForQuestionAnswering, DataCollatorWithPadding
from typing_extensions import TypedDict

from ..bridges.model_sources import position_limit
from ..data.columns import is_missing
from ..data.questions import Question, asked_rows
from ..data.tables import open_table
from ..inference.answers import ALL
from ..inference.arguments import PredictArguments
from ..inference.batches import Job, check_finite, in_batches
from ..inference.loading import load_head
from ..question_answering import QuestionAnsweringPipeline
from ..utils.errors import DataError
from .answerer import MORE_THAN_ANY, Answerer, FileRow, Option, recorded_settings
from .page import Page

PIPELINE = "extractive-question-answering"
SETTINGS = {"max_answer_len": int, "handle_impossible_answer": bool}  # of the pipeline, which a configuration records
FIELDS = "question", "context"
PARTS = "answer", "score", "start", "end"  # of an answer
Window = dict[str, Any]  # what the pipeline's preprocess yields, or its forward returns


class Found(TypedDict):
    """An answer of the pipeline."""

    answer: str
    score: float
    start: int
    end: int


class Reader(Answerer):
    """Finds answers with a model, a tokenizer, and the arguments of the pipeline in the model's configuration.

    Training, evaluation, prediction and the server use it, and so give the answers of
    `pipeline("extractive-question-answering", model, **settings)`. A job has the windows of a context. Raises
    `DataError` for a tokenizer without character offsets.
    """

    name: ClassVar[str] = "answer"
    summary: ClassVar[str] = (
        "Answer questions. An answer is a piece of the context, with its probability and its place."
    )
    unit: ClassVar[str] = "questions"
    fields = FIELDS
    asks, answers = "A question with its context, or a list of these.", Found | list[Found]

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        device: Any = None,
        batch_size: int = 32,
        max_length: int | None = None,
        top_k: int = 1,
    ) -> None:
        """max_length: of a window, in tokens; by default that of the pipeline. top_k: answers to a row of predict."""
        limit, most = tokenizer.model_max_length, position_limit(model.config)
        tokenizer.model_max_length = min(limit, most or limit)
        self.chosen, self.top_k = self.settings(model.config), top_k
        self.length = {} if max_length is None else {"max_seq_len": max_length}
        place = model.device if device is None else device
        try:
            pipe = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer, device=place, **self.chosen)
        except ValueError as error:
            raise DataError(f"the tokenizer cannot be used: {error}") from error
        super().__init__(pipe, {"top_k": MORE_THAN_ANY}, batch_size=batch_size)

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Reader":
        model, tokenizer = load_head(arguments, AutoModelForQuestionAnswering, "not trained to answer questions")
        top_k = int(arguments.top_k or 1)
        return cls(model, tokenizer, None, arguments.batch_size, arguments.max_length, top_k)

    @classmethod
    def settings(cls, config: Any) -> dict[str, Any]:
        """Return the valid settings of the pipeline that a configuration records."""
        found = recorded_settings(config, PIPELINE)
        valid = {name: found[name] for name, kind in SETTINGS.items() if type(found.get(name)) is kind}
        return {name: value for name, value in valid.items() if name != "max_answer_len" or value > 0}

    def windows(self, question: str, context: str) -> list[Window]:
        """Return the windows of a context, each after the question. Raises ValueError for a question too long."""
        return list(self.pipe.preprocess({"question": question, "context": context}, **self.length))

    def windows_of(self, question: Question) -> list[Window]:
        """Return the windows of a question. Raises `DataError` that names the entry of one that is too long."""
        try:
            return self.windows(question.question, question.context)
        except ValueError as error:
            fault = "the question leaves no room for its context; shorten it, or raise --max_length"
            raise DataError(f"{question.where}: {fault}") from error

    def best(self, outputs: Sequence[Window], top_k: int = 1) -> list[Found]:
        """Return the best answers in the outputs for the windows of a context; none if it has no tokens."""
        outputs = [one for one in outputs if 1 in one["encoding"].sequence_ids]
        if not outputs:
            return []
        found = self.pipe.postprocess(outputs, top_k=top_k, **self.chosen)
        return [found] if top_k == 1 else found

    def best_in(self, asked: Sequence[Sequence[Window]], top_k: int = 1) -> list[list[Found]]:
        """Return the best answers to questions, of which each has windows. Windows of several share a batch."""
        windows = list(chain.from_iterable(asked))
        limits = self.batch_size, self.pipe.device
        outputs = in_batches(windows, lambda window: len(window["encoding"].ids), self._read, *limits)
        every: Iterator[Any] = iter(outputs)
        return [self.best(list(islice(every, len(each))), top_k) for each in asked]

    def texts_of(self, questions: Sequence[Question]) -> list[str]:
        """Return the best answer to each question, "" for none."""
        found = self.best_in([self.windows_of(question) for question in questions])
        return ["".join(best["answer"] for best in each) for each in found]

    def _read(self, windows: Sequence[Window]) -> list[Window]:
        """Return the logits of each window of a batch."""
        found = []
        kept = [{name: window[name] for name in ("encoding", "context", "is_last")} for window in windows]
        features = [{name: window[name][0] for name in window.keys() - kept[0].keys()} for window in windows]
        batch = DataCollatorWithPadding(self.pipe.tokenizer)(features)
        outputs = self.pipe.forward({**batch, **kept[0]})
        for row, rest in enumerate(kept):
            start, end = (outputs[name][row : row + 1] for name in ("start", "end"))
            size = len(rest["encoding"].ids)
            real = slice(-size, None) if self.pipe.tokenizer.padding_side == "left" else slice(size)
            check_finite(start[:, real], end[:, real])
            found.append({"start": start, "end": end, **rest})
        return found

    @property
    def options(self) -> Mapping[str, Option]:
        return {"top_k": Option("The number of answers to a question, best first.", 1, self.limits["top_k"])}

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        windows = self.windows(**text)
        question = self.pipe.tokenizer(text["question"], add_special_tokens=False, verbose=False)["input_ids"]
        ids = [token for window in windows for token in window["encoding"].ids]
        sides = [window["encoding"].sequence_ids for window in windows]
        if not any(1 in each for each in sides):
            raise ValueError(f"context: {text['context'][:40]!r} gives no tokens that could be an answer")
        features = {"input_ids": ids, "windows": windows}
        return Job(features, len(ids), sides[0].count(0) < len(question), (("top_k", options.get("top_k", 1)),))

    def run(self, jobs: Sequence[Job]) -> list[list[Found]]:
        return self.best_in([job.features["windows"] for job in jobs], **dict(jobs[0].options))

    def shape(self, answers: Sequence[list[Found]], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Format answers as the pipeline does: a list for each question if several are asked for."""
        best = [answer[0] if options.get("top_k", 1) == 1 else answer for answer in answers]
        return best if is_list else best[0]

    @property
    def counts(self) -> dict[str, int]:
        return {
            "rows without a question or a context, which get no answer": self.empty,
            "questions that leave no room for their contexts (--max_length), which get no answer": self.cut,
        }

    # Rows of files

    @classmethod
    def refused(cls, arguments: PredictArguments) -> dict[str, Any]:
        given: dict[str, Any] = {"--threshold": arguments.threshold is not None, "--top_k all": arguments.top_k == ALL}
        return {**given, "--text_column": bool(arguments.text_column)}

    @classmethod
    def name_columns(cls, arguments: PredictArguments) -> None:
        """Print the delimiter: the columns have names of their own."""
        notes = () if arguments.input == "-" else open_table(Path(arguments.input), arguments.form).notes
        print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        texts = FIELDS if arguments.with_text else ()
        return ["id", *PARTS, *texts, *(["top"] if arguments.top_k else [])]

    @classmethod
    def rows(cls, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream (row, its texts, question, kept columns). Raises `DataError` that names the entry and the field."""
        for number, question, kept in asked_rows(arguments.input, arguments.form, arguments.kept):
            yield number, question.pair, question, kept

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        windows = [self._windows_or_none(question) for _, _, question, _ in rows]
        for (row, _, question, kept), found in zip(rows, self.best_in(windows, self.top_k)):
            best = found[0] if found else dict.fromkeys(PARTS)
            fields = {"id": question.id, "question": question.question, "context": question.context}
            self.progress(1)
            yield {**fields, **best, "top": found, **kept, "row": row}

    def _windows_or_none(self, question: Question) -> list[Window]:
        """Return the windows of a question, and none of one that gets no answer, which is counted."""
        if is_missing(question.question) or is_missing(question.context):
            self.empty += 1
            return []
        try:
            windows = self.windows_of(question)
        except DataError:
            self.cut += 1
            return []
        self.empty += not any(1 in window["encoding"].sequence_ids for window in windows)
        return windows


class ReaderPage(Page):
    fields = FIELDS
    outputs = ("Label", {"label": "Answer"}), ("HighlightedText", {"label": "Context"})

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        best = answer[0]
        span = {"entity": "answer", "start": best["start"], "end": best["end"]}
        return [{best["answer"]: best["score"]}, {"text": texts[1], "entities": [span]}]
