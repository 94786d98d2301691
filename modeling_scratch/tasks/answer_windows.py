# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Windows of contexts: what a model reads of a context after the question, and the answers that it finds there."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, ClassVar

import datasets
import numpy as np
import torch
from transformers import DataCollatorWithPadding, EvalPrediction

from ..bridges.model_sources import position_limit
from ..data.questions import Answer, Question
from ..fast.text_classification import batches_by_length
from ..question_answering import QuestionAnsweringPipeline
from ..utils.errors import DataError, DivergedError
from .answerer import MORE_THAN_ANY, Answerer, Job, check_finite, response
from .base import Encoded, recorded_settings
from .requests import Inputs, Option, Pairs, Schema, array, record

PIPELINE = "extractive-question-answering"
SETTINGS = {"max_answer_len": int, "handle_impossible_answer": bool}  # of the pipeline, which a configuration records
FIELDS = "question", "context"
IGNORED = -100  # the position of an answer that a tokenizer has no token for
Window = dict[str, Any]  # what the pipeline's preprocess yields, or its forward returns
Found = dict[str, Any]  # an answer of the pipeline


def settings_of(config: Any) -> dict[str, Any]:
    """Return the valid settings of the pipeline that a configuration records."""
    found = recorded_settings(config, PIPELINE)
    valid = {name: found[name] for name, kind in SETTINGS.items() if type(found.get(name)) is kind}
    return {name: value for name, value in valid.items() if name != "max_answer_len" or value > 0}


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
        self.settings, self.top_k = settings_of(model.config), top_k
        self.length, self.lock = {} if max_length is None else {"max_seq_len": max_length}, threading.Lock()
        place = model.device if device is None else device
        try:
            pipe = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer, device=place, **self.settings)
        except ValueError as error:
            raise DataError(f"the tokenizer cannot be used: {error}") from error
        super().__init__(pipe, {"top_k": MORE_THAN_ANY}, batch_size=batch_size)

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
        found = self.pipe.postprocess(outputs, top_k=top_k, **self.settings)
        return [found] if top_k == 1 else found

    def best_in(self, asked: Sequence[Sequence[Window]], top_k: int = 1) -> list[list[Found]]:
        """Return the best answers to questions, of which each has windows. Windows of several share a batch."""
        windows = list(chain.from_iterable(asked))
        lengths = [len(window["encoding"].ids) for window in windows]
        outputs: dict[int, Window] = {}
        for batch in batches_by_length(lengths, self.batch_size, self.pipe.device):
            outputs |= zip(batch, self._read([windows[number] for number in batch]))
        every = iter([outputs[number] for number in range(len(windows))])
        return [self.best(list(islice(every, len(each))), top_k) for each in asked]

    def _read(self, windows: Sequence[Window]) -> Iterator[Window]:
        """Yield the logits of each window of a batch."""
        kept = [{name: window[name] for name in ("encoding", "context", "is_last")} for window in windows]
        features = [{name: window[name][0] for name in window.keys() - kept[0].keys()} for window in windows]
        batch = DataCollatorWithPadding(self.pipe.tokenizer)(features)
        outputs = self.pipe.forward({**batch, **kept[0]})
        for row, rest in enumerate(kept):
            start, end = (outputs[name][row : row + 1] for name in ("start", "end"))
            size = len(rest["encoding"].ids)
            real = slice(-size, None) if self.pipe.tokenizer.padding_side == "left" else slice(size)
            check_finite(start[:, real], end[:, real])
            yield {"start": start, "end": end, **rest}

    @property
    def options(self) -> Mapping[str, Option]:
        return {"top_k": Option("The number of answers to a question, best first.", 2, 1, self.limits["top_k"])}

    @property
    def answers(self) -> Schema:
        kinds = {"score": "number", "start": "integer", "end": "integer", "answer": "string"}
        answer = record({name: {"type": kind} for name, kind in kinds.items()})
        return response({"anyOf": [answer, array(answer), array(array(answer))]})

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        told = "A question with its context, or a list of these."
        return Pairs(max_texts, max_characters, FIELDS, told, ("Who built it?", "It was built by Eiffel."))

    @property
    def samples(self) -> list[Any]:
        return [dict(zip(FIELDS, ("a", "b c")))]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        with self.lock:  # each call changes how the tokenizer truncates, and requests are encoded in threads
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


# Windows


def token_span(encoding: Any, answer: Answer, is_first: bool, is_last: bool) -> tuple[int, int] | None:
    """Return the first and the last token of an answer in a window; None if the window has not all of it.

    is_first, is_last: of the windows of the context.
    """
    places = {index: encoding.offsets[index] for index, side in enumerate(encoding.sequence_ids) if side == 1}
    touched = [index for index, (start, end) in places.items() if max(start, answer.start) < min(end, answer.end)]
    if not touched:
        return None
    begins = is_first or min(places.values())[0] <= answer.start
    ends = is_last or max(end for _, end in places.values()) >= answer.end
    return (touched[0], touched[-1]) if begins and ends else None


def no_answer(encoding: Any, token: int | None) -> int:
    """Return the index of the token that stands for no answer, as the pipeline reads it; `IGNORED` without one."""
    pairs = enumerate(zip(encoding.ids, encoding.sequence_ids))
    return next((index for index, (one, side) in pairs if one == token and side != 1), IGNORED)


def encode_questions(questions: Sequence[Question], reader: Reader, keeps_windows: bool = True) -> Encoded:
    """Divide each context into windows, with the tokens of the first answer, or of none, as labels.

    parts: the windows of each question, kept for evaluation. lost: the first answers that are in no window. Raises
    `DataError` for a question that leaves no room for its context.
    """
    columns: dict[str, list[Any]] = {}
    kept, lost = list[Any](), 0
    for question in questions:
        windows = reader.windows_of(question)
        spans = _spans(question, windows, reader.pipe.tokenizer.truncation_side)
        lost += bool(question.answers) and not any(spans)
        for window, span in zip(windows, spans):
            null = no_answer(window["encoding"], reader.pipe.tokenizer.cls_token_id)
            values: dict[str, Any] = {
                name: value[0].tolist() for name, value in window.items() if isinstance(value, torch.Tensor)
            }
            values |= dict(zip(("start_positions", "end_positions"), span or (null, null)))
            for name, value in values.items():
                columns.setdefault(name, []).append(value)
        meta = [{name: window[name] for name in ("encoding", "context")} for window in windows]
        kept += [meta] if keeps_windows else []
    return Encoded(datasets.Dataset.from_dict(columns), kept, lost)


def _spans(question: Question, windows: Sequence[Window], truncation_side: str) -> list[tuple[int, int] | None]:
    """Return the `token_span` of the first answer in each window. Truncation on the left starts at the end."""
    if not question.answers:
        return [None] * len(windows)
    last = len(windows) - 1
    places = range(last + 1) if truncation_side == "right" else range(last, -1, -1)
    return [
        token_span(window["encoding"], question.answers[0], place == 0, place == last)
        for window, place in zip(windows, places)
    ]


# Scores


class AnswerMetrics:
    """compute_metrics for Trainer: the scores of the answers to the questions of a split."""

    def __init__(self, reader: Reader, questions: Sequence[Question], windows: Sequence[Sequence[Window]]) -> None:
        self.reader, self.questions, self.windows = reader, questions, windows

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """predictions: logits of start and end, (windows, tokens) each. Raises `DataError` if training has diverged."""
        from ..report.answer_scores import mean_scores, score_answers

        right = [question.right for question in self.questions]
        return mean_scores(score_answers(right, self.answers(prediction.predictions)))

    def answers(self, logits: Any) -> list[str]:
        """Return the best answer to each question, "" for none."""
        start, end = (torch.as_tensor(np.asarray(each)).float() for each in logits)
        if start.isnan().any() or end.isnan().any():
            fault = "the logits are NaN: training has diverged"
            raise DivergedError(f"{fault}. Lower the learning rate or lengthen the warm-up")
        found, row = [], 0
        for windows in self.windows:
            rows = range(row, row + len(windows))
            outputs = [
                {"start": start[each : each + 1], "end": end[each : each + 1], **window}
                for each, window in zip(rows, windows)
            ]
            found.append("".join(best["answer"] for best in self.reader.best(outputs)))
            row += len(windows)
        return found
