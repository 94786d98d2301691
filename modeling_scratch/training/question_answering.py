# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a model that answers questions by a piece of a context: arguments, windows with answers, and evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import torch
from transformers import EvalPrediction, pipeline

from ..data.questions import Answer, Question, QuestionData, QuestionDataArguments, load_questions
from ..evaluation.judged_split import judged_split, predict_split
from ..evaluation.question_answering import mean_scores, report_answers, score_answers
from ..inference.pipeline_settings import record_settings
from ..inference.question_answering import HEAD, TASK, Reader, Window
from ..utils.errors import DataError, DivergedError
from ..utils.markdown import excerpt
from .encoder_heads import HeadModelArguments, HeadTrainer, HeadTrainingArguments, limit_length
from .encoder_models import build_model, build_tokenizer
from .encoder_training import build_trainer, choose_epoch_on_validation, inputs_of
from .run import Run, pipeline_call, summary
from .run_folder import alone
from .trainer import share

PROGRAM = "scripts/train_answers.py"
IGNORED = -100  # the position of an answer that a tokenizer has no token for


@dataclass
class ReaderModelArguments(HeadModelArguments):
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    max_length: int | None = field(
        default=None,
        metadata={"help": "The maximum number of tokens of a question and a window of its context, at most 384."},
    )
    max_answer_length: int = field(default=30, metadata={"help": "The maximum number of tokens of an answer."})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_answer_length < 1:
            raise DataError(f"--max_answer_length {self.max_answer_length}: must be at least 1")


@dataclass
class ReaderTrainingArguments(HeadTrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU."""

    output_dir: str | None = field(
        default="runs/answers", metadata={"help": "The folder for the model and all results."}
    )
    per_device_train_batch_size: int = field(default=16, metadata={"help": "Training windows per step and device."})
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Windows per evaluation batch."})


# Windows


class Encoded(NamedTuple):
    """The windows of a split as rows, those of each question, and how many first answers are in no window."""

    rows: datasets.Dataset
    windows: list[list[Window]]
    lost: int


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

    keeps_windows: for evaluation. Raises `DataError` for a question that leaves no room for its context.
    """
    columns: dict[str, list[Any]] = {}
    kept, lost = [], 0
    for question in questions:
        try:
            windows = reader.windows(question.question, question.context)
        except ValueError as error:
            raise DataError(f"{question.where}: {error}") from error
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


def encode_splits(data: QuestionData, reader: Reader) -> tuple[dict[str, Encoded], list[str]]:
    """Encode each split, and return notes on windows and on answers in none."""
    encoded, notes = {}, []
    for split, questions in data.splits.items():
        encoded[split] = encode_questions(questions, reader, keeps_windows=split != "train")
        if len(encoded[split].rows) > len(questions):
            notes.append(f"{split}: {len(encoded[split].rows):,} windows, as contexts exceed the tokens (--max_length)")
        if encoded[split].lost:
            notes.append(f"{split}: {encoded[split].lost:,} answers are in no window, and read as no answer")
    return encoded, notes


# Training


class AnswerMetrics:
    """compute_metrics for Trainer: the scores of the answers to the questions of a split."""

    def __init__(self, reader: Reader, questions: Sequence[Question], windows: Sequence[Sequence[Window]]) -> None:
        self.reader, self.questions, self.windows = reader, questions, windows

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """predictions: logits of start and end, (windows, tokens) each. Raises `DataError` if training has diverged."""
        return mean_scores(score_answers(self.questions, self.answers(prediction.predictions)))

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


@alone
def train(
    model_arguments: ReaderModelArguments, data_arguments: QuestionDataArguments, arguments: ReaderTrainingArguments
) -> None:
    """Run the training: read, divide into windows, train, evaluate and save. Input errors are raised before."""
    run = Run.open(PROGRAM, model_arguments, data_arguments, arguments, inputs_of(model_arguments, data_arguments))
    data = load_questions(data_arguments)
    run.check_data(data.digests())
    print(data.describe())
    reader = build_reader(run, data)
    encoded, notes = encode_splits(data, reader)
    print(*notes, sep="\n")
    choose_epoch_on_validation(arguments, data, ("f1", True))
    tokenizer = reader.pipe.tokenizer
    metrics = AnswerMetrics(reader, data.splits["validation"], encoded["validation"].windows)
    rows_of = {split: each.rows for split, each in encoded.items()}
    trainer = build_trainer(HeadTrainer, tokenizer, rows_of, metrics, arguments, model=reader.pipe.model)
    run.start(trainer, [*data.notes, *notes], rows={split: len(rows) for split, rows in data.splits.items()})
    judge(run, trainer, data, encoded, reader)


def build_reader(run: Run, data: QuestionData) -> Reader:
    """Build the tokenizer and the model, whose configuration records how it is asked."""
    arguments = run.groups["model"]
    texts = list(dict.fromkeys(text for pair in data.pairs("train") for text in pair.parts))
    tokenizer = build_tokenizer(arguments, texts, run.checkpoint, token_type_ids=True)
    if data.has_unanswerable and tokenizer.cls_token_id is None:
        raise DataError("train has questions without an answer, and the tokenizer has no cls_token to stand for it")
    model = build_model(arguments, tokenizer, ["start", "end"], HEAD, problem_type=None, has_pairs=True)
    limit_length(tokenizer, model.config)
    settings = {"max_answer_len": arguments.max_answer_length, "handle_impossible_answer": data.has_unanswerable}
    record_settings(model.config, TASK, **settings)
    return Reader(model, tokenizer, run.groups["training"].device)


def judge(run: Run, trainer: HeadTrainer, data: QuestionData, encoded: dict[str, Encoded], reader: Reader) -> None:
    """Train, save, and evaluate on the test split, or on validation if there is none."""
    split = judged_split(data.splits)
    run.train(trainer, evaluates=split == "test")
    metrics = AnswerMetrics(reader, data.splits[split], encoded[split].windows)
    trainer.compute_metrics = metrics
    found = metrics.answers(predict_split(trainer, encoded[split].rows, split).predictions)
    if run.is_main:
        lost = encoded[split].lost
        notes = [f"{lost:,} answers are in no window (--max_length), and so cannot be found."] if lost else []
        print(report_answers(trainer, data, split, found, notes))
    share(trainer, data.pairs(split))
    if run.is_main:
        print(ask(run.folder, data.splits[split][:3], reader.settings, run.groups["model"].trust_remote_code))
        print(f"\n{summary(trainer, run.checkpoint)}")


def ask(folder: Path, questions: Sequence[Question], settings: dict[str, Any], trust_remote_code: bool) -> str:
    """Answer a few questions with a pipeline loaded from the saved folder."""
    task: Any = TASK
    pipe: Any = pipeline(task, model=str(folder), trust_remote_code=trust_remote_code, **settings)
    rows = []
    for each in questions:
        answer = pipe(question=each.question, context=each.context)["answer"]
        rows.append(f"{excerpt(each.question, 80)}\n    {excerpt(answer) or '(no answer)'}")
    options = "".join(f", {name}={value}" for name, value in settings.items())
    return "\n".join(["", pipeline_call(f"{TASK!r}, model={str(folder)!r}{options}"), *rows])
