# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The answers to questions: pieces of their contexts, which a model reads in windows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, ClassVar

import torch
from transformers import AutoModelForQuestionAnswering, DataCollatorWithPadding
from typing_extensions import TypedDict

from ..bridges.model_sources import position_limit
from ..data.questions import Question, asked_rows
from ..data.text_pairs import parts_of
from ..inference.answers import shortest
from ..inference.arguments import ALL, PredictArguments
from ..inference.batches import Job, check_finite, in_batches
from ..inference.loading import load_head
from ..inference.seen_words import unseen_words
from ..question_answering import QuestionAnsweringPipeline
from ..utils.errors import DataError
from .answerer import MORE_THAN_ANY, Answerer, FileRow, Option, recorded_settings
from .page import Page

PIPELINE = "extractive-question-answering"
FIELDS = "question", "context"
PARTS = "answer", "score", "start", "end"  # of an answer
Window = dict[str, Any]  # what the pipeline's preprocess yields, or its forward returns


def features_of(window: Window) -> dict[str, torch.Tensor]:
    """Return what the model reads of a window, each (T,)."""
    return {name: value[0] for name, value in window.items() if isinstance(value, torch.Tensor)}


class Found(TypedDict):
    """An answer of the pipeline; None to a question without one, or without a context."""

    answer: str | None
    score: float | None
    start: int | None
    end: int | None


class Reader(Answerer):
    """Finds answers with a model, a tokenizer, and the arguments of the pipeline in the model's configuration.

    Training, evaluation, prediction and the server use it, and so give the answers of
    `pipeline("extractive-question-answering", model, **settings)`. A job has the windows of a context. Raises
    `DataError` for a tokenizer without character offsets.
    """

    summary: ClassVar[str] = (
        "Answer questions. An answer is a piece of the context, with its probability and its place."
    )
    unit: ClassVar[str] = "questions"
    fields, takes, text_columns = FIELDS, ("top_k",), 0
    asks, answers = "A question with its context, or a list of these.", Found | list[Found]
    roomless = 0  # questions that leave no room for their contexts

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
        self.chosen = recorded_settings(model.config, PIPELINE)
        self.length = {} if max_length is None else {"max_seq_len": max_length}
        place = model.device if device is None else device
        try:
            pipe = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer, device=place, **self.chosen)
        except (ValueError, TypeError) as error:
            raise DataError(f"the tokenizer, or a setting in config.json, cannot be used: {error}") from error
        super().__init__(pipe, {"top_k": MORE_THAN_ANY}, {"top_k": top_k}, batch_size=batch_size)

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Reader":
        model, tokenizer = load_head(arguments, AutoModelForQuestionAnswering, "not trained to answer questions")
        top_k = MORE_THAN_ANY if arguments.top_k == ALL else int(arguments.top_k or 1)
        return cls(model, tokenizer, None, arguments.batch_size, arguments.max_length, top_k)

    # Windows

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

    def texts_of(self, questions: Sequence[Question], starts: Any, ends: Any) -> list[str]:
        """Return the best answer to each question by the logits (W, T) of all windows in their order, "" for none."""
        logits, texts = zip(starts, ends), []
        for question in questions:
            windows = self.windows_of(question)
            read = [self._outputs(window, *map(torch.from_numpy, pair)) for window, pair in zip(windows, logits)]
            texts.append("".join(best["answer"] for best in self.best(read)))
        return texts

    def best(self, outputs: Sequence[Window], top_k: int = 1) -> list[Found]:
        """Return the best answers in the outputs for the windows of a context; none if it has no tokens."""
        outputs = [one for one in outputs if 1 in one["encoding"].sequence_ids]
        if not outputs:
            return []
        found: Any = self.pipe.postprocess(outputs, top_k=top_k, **self.chosen)
        best: list[Any] = [found] if top_k == 1 else found
        return [each | {"score": shortest(each["score"])} for each in best]

    def _read(self, windows: Sequence[Window]) -> list[Window]:
        """Return the logits of each window of a batch."""
        batch = DataCollatorWithPadding(self.pipe.tokenizer)([features_of(each) for each in windows])
        outputs = self.pipe.forward({**batch, **dict.fromkeys(("encoding", "context", "is_last"))})
        return [self._outputs(*each) for each in zip(windows, outputs["start"], outputs["end"])]

    def _outputs(self, window: Window, start: torch.Tensor, end: torch.Tensor) -> Window:
        """Return the outputs of the pipeline for a window, of its logits with padding (T,)."""
        size = len(window["encoding"].ids)
        real = slice(-size, None) if self.pipe.tokenizer.padding_side == "left" else slice(size)
        check_finite(start[real], end[real])
        about = {name: window[name] for name in ("encoding", "context", "is_last")}
        return {"start": start[None, real].float(), "end": end[None, real].float(), **about}

    # Texts

    @property
    def options(self) -> Mapping[str, Option]:
        return {"top_k": Option("The number of answers to a question, best first.", 1, self.limits["top_k"])}

    def job_of(self, text: str, options: Mapping[str, Any]) -> Job | None:
        question, _ = parts_of(text)
        windows = self.windows(*parts_of(text))
        sides = [window["encoding"].sequence_ids for window in windows]
        if not any(1 in each for each in sides):
            return None
        ids = self.pipe.tokenizer(question, add_special_tokens=False, verbose=False)["input_ids"]
        tokens = sum(len(window["encoding"].ids) for window in windows)
        top_k = options.get("top_k", self.defaults["top_k"])
        unknown, parts = self.pipe.tokenizer.unk_token_id, parts_of(text)
        unseen = dict.fromkeys(word for each in windows for word in unseen_words(each["encoding"], unknown, parts))
        return Job(windows, tokens, sides[0].count(0) < len(ids), (("top_k", top_k),), [*unseen])

    def run(self, jobs: Sequence[Job]) -> list[list[Found]]:
        """Return the best answers. Windows of several contexts share a batch."""
        windows = list(chain.from_iterable(job.features for job in jobs))
        limits = self.batch_size, self.pipe.device
        outputs: Iterator[Any] = iter(in_batches(windows, lambda each: len(each["encoding"].ids), self._read, *limits))
        return [self.best(list(islice(outputs, len(job.features))), **dict(job.options)) for job in jobs]

    def fields_of(self, answer: list[Found] | None, options: Mapping[str, Any]) -> dict[str, Any]:
        return {**(answer[0] if answer else dict.fromkeys(PARTS)), "top": answer or []}

    def output(self, answer: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """Return the best answer as the pipeline has it, or a list if several are asked for."""
        return answer["top"] if options.get("top_k", 1) > 1 else {name: answer[name] for name in PARTS}

    @property
    def counts(self) -> dict[str, int]:
        return {
            "rows without a question or a context, which get no answer": self.empty,
            "questions that leave no room for their contexts (--max_length), which get no answer": self.roomless,
            "questions that are truncated": self.cut,
            **super().counts,
        }

    # Rows of files

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        texts = FIELDS if arguments.with_text else ()
        return ["id", *PARTS, *texts, *(["top"] if arguments.top_k else [])]

    @classmethod
    def rows(cls, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream the rows. Raises `DataError` that names the entry and the field."""
        for number, question, kept in asked_rows(arguments.input, arguments.form, arguments.kept):
            yield number, question.pair, {"id": question.id, **kept}

    def read(self, texts: Sequence[str]) -> list[Job | None]:
        """Tokenise the questions of a file. One without room for its context gets no answer, and is counted."""
        jobs = list[Job | None]()
        for text in texts:
            try:
                jobs += super().read([text])
            except ValueError:
                jobs.append(None)
                self.roomless += 1
        return jobs


class ReaderPage(Page):
    fields = FIELDS
    outputs = ("Label", {"label": "Answer"}), ("HighlightedText", {"label": "Context"})

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        span = {"entity": "answer", "start": answer["start"], "end": answer["end"]}
        return [{answer["answer"]: answer["score"]}, {"text": texts[1], "entities": [span]}]
