# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer questions by pieces of their contexts, which are read in windows: extractive question answering."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForQuestionAnswering

from ..data.columns import is_missing
from ..data.questions import Question, QuestionData, QuestionDataArguments, asked_rows, load_questions
from ..data.tables import open_table
from ..data.text_pairs import TextPair
from ..inference.answers import ALL
from ..inference.arguments import PredictArguments
from ..inference.loading import load_head, set_length
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, model_with_head, tokenizer_of_head
from ..utils.errors import DataError
from ..utils.markdown import excerpt
from ..utils.options import option
from .answer_windows import FIELDS, PIPELINE, AnswerMetrics, Reader, encode_questions, settings_of
from .base import (
    EXAMPLES,
    Curve,
    Encoded,
    FileRow,
    Space,
    Task,
    Training,
    Use,
    headline,
    record_settings,
    scores_table,
    shares_table,
)

PARTS = "answer", "score", "start", "end"  # of an answer
LONGEST_CONTEXT = 400  # characters of a context in an example
SCORES = {"exact_match": "exact match", "f1": "F1"}
SILENT = "(no answer)"


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


ANSWERED = """{
        each["answer"]: each["score"] for each in [pipe(question=question, context=context)]
    }"""


def _example(question: Question, found: str) -> dict[str, Any]:
    return {
        "question": excerpt(question.question),
        "context": excerpt(question.context, LONGEST_CONTEXT),
        "answers": list(dict.fromkeys(map(excerpt, question.right))),
        "answer": excerpt(found),
    }


def _windows_or_none(answerer: Reader, question: Question) -> list[Any]:
    """Return the windows of a question, and none of one that gets no answer, which is counted."""
    if is_missing(question.question) or is_missing(question.context):
        answerer.empty += 1
        return []
    try:
        windows = answerer.windows_of(question)
    except DataError:
        answerer.cut += 1
        return []
    answerer.empty += not any(1 in window["encoding"].sequence_ids for window in windows)
    return windows


class QuestionAnswering(Task):
    name = "answer"
    scores = "exact_match", "f1"
    arguments = ReaderModelArguments, QuestionDataArguments, ReaderTrainingArguments
    purpose = "A model for extractive question answering: the answer to a question is a piece of its context."
    use = Use(
        "question-answering", PIPELINE, "AutoModelForQuestionAnswering",
        "[logits.argmax(-1).item() for logits in "
        'model(**tokenizer(text, truncation=True, return_tensors="pt")).values()]',
        fields=FIELDS,
    )  # fmt: skip
    space = Space(PIPELINE, ANSWERED)
    reads = "It reads a long context in windows. An answer that no window holds cannot be found."
    keys = rb'"(qas|paragraphs|answers)"\s*:'
    unit, fields, refusal = "questions", FIELDS, "the model answers questions"
    read = staticmethod(load_questions)
    outputs = ("Label", {"label": "Answer"}), ("HighlightedText", {"label": "Context"})
    explained = "span"
    curve = Curve("loss (nats per start or end)", "eval_f1", "F1 of answers, validation")

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
        return Reader(training.model, training.tokenizer, training.arguments.device)

    def encode(self, training: Training, split: str) -> Encoded:
        questions, notes = training.data.splits[split], []
        encoded = encode_questions(questions, training.answerer, keeps_windows=split != "train")
        if len(encoded.rows) > len(questions):
            notes.append(f"{split}: {len(encoded.rows):,} windows, as contexts exceed the tokens (--max_length)")
        if encoded.lost:
            notes.append(f"{split}: {encoded.lost:,} answers are in no window, and read as no answer")
        return encoded._replace(notes=notes)

    def metrics(self, training: Training, split: str) -> AnswerMetrics:
        return AnswerMetrics(training.answerer, training.data.splits[split], training.encoded[split].parts)

    def evaluate(self, training: Training, split: str, predicted: Any) -> dict[str, Any]:
        from ..report.answer_scores import save_answers

        data, found = training.data, self.metrics(training, split).answers(predicted.predictions)
        evaluation = evaluate_answers(data, split, found)
        digest, right = str(data.digests()[split]), [question.right for question in data.splits[split]]
        save_answers(Path(training.arguments.output_dir), split, digest, data.texts(split), right, found)
        if lost := training.encoded[split].lost:
            evaluation["notes"] = [f"{lost:,} answers are in no window (--max_length), and so cannot be found."]
        return evaluation

    def evaluated(self, evaluation: Mapping[str, Any]) -> str:
        return f"{evaluation['questions']:,} questions on {evaluation['contexts']:,} contexts"

    def definitions(self, evaluation: Mapping[str, Any]) -> dict[str, str]:
        return {"exact_match": "exact match, as of SQuAD", "f1": "F1 of words, as of SQuAD"}

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

    def settings(self, config: Any) -> dict[str, Any]:
        return settings_of(config)

    def sample(self, pipe: Any, *texts: str) -> str:
        return pipe(**dict(zip(FIELDS, texts)))["answer"] or SILENT

    def load(self, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> Reader:
        model, tokenizer = load_head(arguments, AutoModelForQuestionAnswering, "not trained to answer questions")
        set_length(arguments, tokenizer, model.config)
        top_k = int(arguments.top_k or 1)
        return Reader(model, tokenizer, None, arguments.batch_size, arguments.max_length, top_k)

    def refused(self, arguments: PredictArguments) -> dict[str, Any]:
        given: dict[str, Any] = {"--threshold": arguments.threshold is not None, "--explain": arguments.explain}
        return {**given, "--text_column": bool(arguments.text_column), "--top_k all": arguments.top_k == ALL}

    def prepare(self, arguments: PredictArguments) -> None:
        super().prepare(arguments)
        arguments.check_answer(["row", *self.columns(arguments)])
        notes = () if arguments.input == "-" else open_table(Path(arguments.input), arguments.form).notes
        print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)

    def columns(self, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        texts = FIELDS if arguments.with_text else ()
        return ["id", *PARTS, *texts, *(["top"] if arguments.top_k else [])]

    def rows(self, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream (row, its texts, question, kept columns). Raises `DataError` that names the entry and the field."""
        for number, question, kept in asked_rows(arguments.input, arguments.form, arguments.kept):
            yield number, question.pair, question, kept

    def answer(self, answerer: Reader, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        windows = [_windows_or_none(answerer, question) for _, _, question, _ in rows]
        for (row, _, question, kept), found in zip(rows, answerer.best_in(windows, answerer.top_k)):
            best = found[0] if found else dict.fromkeys(PARTS)
            fields = {"id": question.id, "question": question.question, "context": question.context}
            answerer.progress(1)
            yield {**fields, **best, "top": found, **kept, "row": row}

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        best = answer[0]
        span = {"entity": "answer", "start": best["start"], "end": best["end"]}
        return [{best["answer"]: best["score"]}, {"text": texts[1], "entities": [span]}]


TASK = QuestionAnswering()
