# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer questions by pieces of their contexts, which are read in windows: extractive question answering."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import EvalPrediction

from ..data.questions import Question, QuestionData, QuestionDataArguments, load_questions
from ..data.text_pairs import TextPair
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, model_with_head, tokenizer_of_head
from ..utils.errors import DataError
from ..utils.markdown import excerpt
from ..utils.options import option
from .answer_windows import encode_questions
from .answerer import record_settings
from .base import ASKED, Curve, Encoded, Task, Training
from .card import EXAMPLES, Card, Use, headline, scores_table, shares_table
from .reader import FIELDS, PIPELINE, SILENT, Reader, ReaderPage

LONGEST_CONTEXT = 400  # characters of a context in an example
SCORES = {"exact_match": "exact match", "f1": "F1"}


@dataclass
class ReaderModelArguments(HeadModelArguments):
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

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


def evaluate_answers(data: QuestionData, split: str, found: Sequence[str]) -> dict[str, Any]:
    """Return the scores of answers and of baselines, and the first questions, without selection."""
    from ..report.answer_scores import baseline_answers, mean_scores, score_answers, summarise

    questions = data.splits[split]
    right = [question.right for question in questions]
    values = score_answers(right, found)
    others = baseline_answers(data.splits["train"], questions)
    baselines = [{"name": name, **summarise(score_answers(right, answers))} for name, answers in others.items()]
    scores = {**summarise(values), "baselines": baselines}
    has_answer = np.array([*map(bool, right)])
    kinds = {"with": values[has_answer], "without": values[~has_answer]}
    constant = f"gives {'the same' if found[0] else 'no'} answer to every question"
    return {
        "split": split,
        "questions": len(questions),
        "contexts": len({question.context for question in questions}),
        "headline": headline(scores, "f1", "F1", constant if len(set(found)) == 1 < len(found) else None),
        **scores,
        "kinds": {kind: {"questions": len(rows), **mean_scores(rows)} for kind, rows in kinds.items() if len(rows)},
        "notes": [],
        "examples": [_example(*pair) for pair in zip(questions[:EXAMPLES], found)],
    }


def _example(question: Question, found: str) -> dict[str, Any]:
    return {
        "question": excerpt(question.question),
        "context": excerpt(question.context, LONGEST_CONTEXT),
        "answers": list(dict.fromkeys(map(excerpt, question.right))),
        "answer": excerpt(found),
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

    def quoted(self, example: Mapping[str, Any]) -> dict[str, str]:
        answers = {"this model": example["answer"] or SILENT, "the data": ", ".join(example["answers"]) or SILENT}
        return {"question": example["question"], **answers}

    def asked(self, example: Mapping[str, Any]) -> TextPair:
        return TextPair(example["question"], example["context"])


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

    def trainer(self, training: Training) -> dict[str, Any]:
        return ASKED

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        from ..report.answer_scores import mean_scores, score_answers

        questions = training.data.splits[split]

        def compute(prediction: EvalPrediction) -> dict[str, float]:
            training.encoded[split].parts[:] = found = training.answerer.texts_of(questions)
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
