# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer questions by pieces of their contexts, which are read in windows: extractive question answering."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from transformers import EvalPrediction

from ..data.questions import Answer, Question, QuestionData, QuestionDataArguments, load_questions
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, model_with_head, tokenizer_of_head
from ..utils.errors import DataError
from ..utils.markdown import excerpt
from ..utils.options import option
from .answerer import record_settings
from .base import Curve, Encoded, Task, Training
from .card import EXAMPLES, Card, Use, scores_table, shares_table
from .reader import FIELDS, PIPELINE, Reader, ReaderPage, Window, features_of

LONGEST_CONTEXT = 400  # characters of a context in an example
IGNORED = -100  # the position of an answer that a tokenizer has no token for
SCORES = {"exact_match": "exact match", "f1": "F1"}


@dataclass
class ReaderModelArguments(HeadModelArguments):
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = option(
        "wordlevel", "The kind of a new tokenizer."
    )
    min_frequency: int = option(1, "The number of times that a word must occur for a new tokenizer to know it.")
    max_length: int | None = option(
        None, "The maximum number of tokens of a question and a window of its context, at most 384."
    )
    max_answer_length: int = option(30, "The maximum number of tokens of an answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_answer_length < 1:
            raise DataError(f"--max_answer_length {self.max_answer_length}: must be at least 1")


@dataclass
class ReaderTrainingArguments(HeadTrainingArguments):
    output_dir: str | None = option("runs/answers", "The folder for the model and all results.")


# Windows and their labels


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


def encode_questions(questions: Sequence[Question], reader: Reader) -> Encoded:
    """Divide each context into windows, with the tokens of the first answer, or of none, as labels.

    lost: the first answers that are in no window. Raises `DataError` for a question without room for its context.
    """
    rows, lost = list[dict[str, Any]](), 0
    for question in questions:
        windows = reader.windows_of(question)
        spans = _spans(question, windows, reader.pipe.tokenizer.truncation_side)
        lost += bool(question.answers) and not any(spans)
        for window, span in zip(windows, spans):
            null = no_answer(window["encoding"], reader.pipe.tokenizer.cls_token_id)
            features = {name: value.tolist() for name, value in features_of(window).items()}
            rows.append({**features, **dict(zip(("start_positions", "end_positions"), span or (null, null)))})
    return Encoded.of({name: [row[name] for row in rows] for name in rows[0]}, lost)


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


def evaluate_answers(data: QuestionData, split: str, found: Sequence[str]) -> dict[str, Any]:
    """Return the scores of answers and of baselines, and the first questions, without selection."""
    from ..report.answer_scores import ANSWER_METRICS, baseline_answers, mean_scores, score_answers, summarise
    from ..report.significance import verdict_of

    questions = data.splits[split]
    right = [question.right for question in questions]
    others = baseline_answers(data.splits["train"], questions)
    values, *of_others = (score_answers(right, answers) for answers in (found, *others.values()))
    has_answer = np.array([*map(bool, right)])
    kinds = {"with": values[has_answer], "without": values[~has_answer]}
    return {
        "split": split,
        "questions": len(questions),
        "contexts": len({question.context for question in questions}),
        **verdict_of(ANSWER_METRICS.score, values, dict(zip(others, of_others)), found),
        **summarise(values),
        "baselines": [{"name": name, **summarise(each)} for name, each in zip(others, of_others)],
        "kinds": {kind: {"questions": len(rows), **mean_scores(rows)} for kind, rows in kinds.items() if len(rows)},
        "notes": [],
        "examples": [
            {
                "question": excerpt(question.question),
                "context": excerpt(question.context, LONGEST_CONTEXT),
                "answers": list(dict.fromkeys(map(excerpt, question.right))),
                "answer": excerpt(answer),
            }
            for question, answer in zip(questions[:EXAMPLES], found)
        ],
    }


class AnswerCard(Card):
    def evaluated(self, evaluation: Mapping[str, Any]) -> str:
        return f"{super().evaluated(evaluation)} on {evaluation['contexts']:,} contexts"

    def tables(self, evaluation: Mapping[str, Any]) -> list[str]:
        heads: dict[str, str] = {}
        for key, name in SCORES.items():
            heads |= {key: name, f"intervals_95.{key}": "95 % interval"}
        kinds = {f"{kind} an answer": scores for kind, scores in evaluation["kinds"].items()}
        return [scores_table(evaluation, heads), shares_table("questions", kinds, {"questions": "number", **SCORES})]


class QuestionAnswering(Task):
    name, refusal, explained = "answer", "the model answers questions", "span"
    answering, page = Reader, ReaderPage
    card = AnswerCard(
        "A model for extractive question answering: the answer to a question is a piece of its context.",
        Use("question-answering", PIPELINE, "AutoModelForQuestionAnswering", fields=FIELDS),
        reads="It reads a long context in windows. An answer that no window holds cannot be found.",
        unit="questions",
        scores={"exact_match": "exact match, as of SQuAD", "f1": "F1 of words, as of SQuAD"},
    )
    arguments = ReaderModelArguments, QuestionDataArguments, ReaderTrainingArguments
    scores = "exact_match", "f1"
    curve = Curve("loss (nats per start or end)", "eval_f1", "F1 of answers, validation")
    read = staticmethod(load_questions)

    def build_tokenizer(self, options: ReaderModelArguments, data: QuestionData, checkpoint: str | None) -> Any:
        tokenizer = tokenizer_of_head(options, data, checkpoint)
        if data.has_unanswerable and tokenizer.cls_token_id is None:
            raise DataError("train has questions without an answer, and the tokenizer has no cls_token to stand for it")
        return tokenizer

    def build_model(self, options: ReaderModelArguments, data: QuestionData, tokenizer: Any) -> Any:
        model = model_with_head(options, tokenizer, ["start", "end"], "ForQuestionAnswering", has_pairs=True)
        settings = {"max_answer_len": options.max_answer_length, "handle_impossible_answer": data.has_unanswerable}
        record_settings(model.config, PIPELINE, **settings)
        return model

    def answerer(self, training: Training) -> Reader:
        arguments = training.arguments
        return Reader(training.model, training.tokenizer, arguments.device, arguments.eval_batch_size)

    def encode(self, training: Training, split: str) -> Encoded:
        questions, notes = training.data.splits[split], []
        encoded = encode_questions(questions, training.answerer)
        if len(encoded.rows) > len(questions):
            notes.append(f"{split}: {len(encoded.rows):,} windows, as contexts exceed the tokens (--max_length)")
        if encoded.lost:
            notes.append(f"{split}: {encoded.lost:,} answers are in no window, and read as no answer")
        return encoded._replace(notes=notes)

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        """Score the answers that `predict` finds, from the logits of the windows of all questions, in their order."""
        from ..report.answer_scores import mean_scores, score_answers

        questions = training.data.splits[split]

        def compute(prediction: EvalPrediction) -> dict[str, float]:
            training.encoded[split].parts[:] = found = training.answerer.texts_of(
                questions, *prediction.predictions[:2]
            )
            return mean_scores(score_answers([question.right for question in questions], found))

        return compute

    def evaluate(self, training: Training, split: str, predicted: Any) -> dict[str, Any]:
        from ..report.predictions import ANSWERS, Predictions

        data, found = training.data, training.encoded[split].parts  # the last that were found
        evaluation = evaluate_answers(data, split, found)
        digest, right = str(data.digests()[split]), [question.right for question in data.splits[split]]
        given = [[text] if text else [] for text in found]
        kept = Predictions.of_lists(ANSWERS, split, digest, [], data.texts(split), right, given)
        kept.save(Path(training.arguments.output_dir))
        if lost := training.encoded[split].lost:
            evaluation["notes"] = [f"{lost:,} answers are in no window (--max_length), and so cannot be found."]
        return evaluation


TASK = QuestionAnswering()
