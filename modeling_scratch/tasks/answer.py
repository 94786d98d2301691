# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer questions by pieces of their contexts, which are read in windows: extractive question answering."""

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
import torch
from transformers import AutoModelForQuestionAnswering, DataCollatorWithPadding, EvalPrediction

from ..bridges.model_sources import position_limit
from ..data.columns import is_missing, read_lines
from ..data.questions import Answer, Question, QuestionData, QuestionDataArguments, asked, file_rows, load_questions
from ..data.rows import Row, missing_column, parse_json
from ..data.tables import delimiter_notes
from ..data.text_pairs import TextPair
from ..fast.text_classification import batches_by_length
from ..inference.answers import ALL
from ..inference.arguments import PredictArguments
from ..inference.loading import load_head, set_length
from ..question_answering import QuestionAnsweringPipeline
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, build_model, build_tokenizer, limit_length
from ..tasks import ANSWER
from ..utils.errors import DataError, DivergedError
from ..utils.markdown import escaped, excerpt, percent, quoted_rows, table
from .answerer import MORE_THAN_ANY, Answerer, Job, response
from .base import (
    LONGER_OR_PRETRAINED,
    Curve,
    Encoded,
    FileRow,
    Metric,
    Report,
    Results,
    Space,
    Task,
    Training,
    Use,
    record_settings,
    recorded_settings,
)
from .requests import AnyOption, Inputs, Option, Pairs, Schema, array, record

PIPELINE = "extractive-question-answering"
SETTINGS = {"max_answer_len": int, "handle_impossible_answer": bool}  # of the pipeline, which a configuration records
FIELDS = "question", "context"
PARTS = "answer", "score", "start", "end"  # of an answer
IGNORED = -100  # the position of an answer that a tokenizer has no token for
EXAMPLES = 5
LONGEST_CONTEXT = 400  # characters of a context in an example
Window = dict[str, Any]  # what the pipeline's preprocess yields, or its forward returns
Found = dict[str, Any]  # an answer of the pipeline


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


# Answers


class Reader(Answerer):
    """Finds answers with a model, a tokenizer, and the arguments of the pipeline in the model's configuration.

    Training, evaluation, prediction and the server use it, and so give the answers of
    `pipeline("extractive-question-answering", model, **settings)`. A job has the windows of a context. Raises
    `DataError` for a tokenizer without character offsets.
    """

    name: ClassVar[str] = ANSWER
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
        self.settings, self.top_k = TASK.settings(model.config), top_k
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
            raise DataError(f"{question.where}: {error}") from error

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
            if not (start[:, real].isfinite().all() and end[:, real].isfinite().all()):
                raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")
            yield {"start": start, "end": end, **rest}

    @property
    def options(self) -> Mapping[str, AnyOption]:
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
        return {"contexts without tokens, which get no answer": self.empty}


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


def evaluate_answers(data: QuestionData, split: str, found: Sequence[str]) -> dict[str, Any]:
    """Return the scores of answers and of baselines, and the first questions, without selection."""
    from ..report.answer_scores import baseline_answers, score_answers, summarise

    questions = data.splits[split]
    values = score_answers(questions, found)
    others = baseline_answers(data.splits["train"], questions)
    baselines = [{"name": name, **summarise(score_answers(questions, answers))} for name, answers in others.items()]
    scores = summarise(values)
    return {
        "split": split,
        "questions": len(questions),
        "contexts": len({question.context for question in questions}),
        "headline": headline(found, scores, baselines),
        **scores,
        "kinds": _kinds(questions, values),
        "baselines": baselines,
        "examples": [_example(*pair) for pair in zip(questions[:EXAMPLES], found)],
    }


def _kinds(questions: Sequence[Question], values: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return the scores of the questions with and without an answer; none of a kind without questions."""
    from ..report.answer_scores import mean_scores

    has_answer = np.array([bool(question.answers) for question in questions])
    kinds = {"with": values[has_answer], "without": values[~has_answer]}
    return {kind: {"questions": len(rows), **mean_scores(rows)} for kind, rows in kinds.items() if len(rows)}


def _example(question: Question, found: str) -> dict[str, Any]:
    return {
        "question": excerpt(question.question),
        "context": excerpt(question.context, LONGEST_CONTEXT),
        "answers": list(dict.fromkeys(excerpt(answer.text) for answer in question.answers)),
        "answer": excerpt(found),
    }


def headline(found: Sequence[str], scores: Mapping[str, Any], baselines: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what a report says first of a model that nobody should use, or None."""
    best = max(baselines, key=lambda each: each["f1"])
    if scores["f1"] == 1:
        return None
    if len(found) > 1 and len(set(found)) == 1:
        told = "the same answer" if found[0] else "no answer"
        return f"The Transformer gives {told} to every question: it has not learned."
    if scores["f1"] > best["f1"]:
        return None
    values = " and ".join(percent(each["f1"]) for each in (scores, best))
    return f"The Transformer is no better than the baseline ({best['name']}): F1 {values}."


def asked_of(evaluation: Mapping[str, Any]) -> str:
    return f"{evaluation['questions']:,} questions on {evaluation['contexts']:,} contexts"


def answer_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of the model and of the baselines in Markdown."""
    rows = {"Transformer": evaluation, **{each["name"]: each for each in evaluation["baselines"]}}
    heads, scores = ["exact match", "95 % interval", "F1", "95 % interval"], ("exact_match", "f1")
    cells = [[cell for name in scores for cell in _with_interval(each, name)] for each in rows.values()]
    return table(["", *heads], [[name, *cell] for name, cell in zip(rows, cells)])


def _with_interval(scores: Mapping[str, Any], name: str) -> list[str]:
    return [percent(scores[name]), " to ".join(map(percent, scores["intervals_95"][name]))]


def kind_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of the questions with and without an answer in Markdown."""
    rows = [
        [f"{kind} an answer", f"{each['questions']:,}", percent(each["exact_match"]), percent(each["f1"])]
        for kind, each in evaluation["kinds"].items()
    ]
    return table(["questions", "number", "exact match", "F1"], rows)


# Files of questions


def typed_rows(arguments: PredictArguments) -> Iterator[tuple[int, str, Row]]:
    """Stream (row, location, fields) of standard input, whose lines are objects in JSON."""
    for number, line in read_lines(sys.stdin.buffer, "--input -", arguments.form):
        where = f"--input -, line {number}"
        if is_missing(line):
            continue
        try:
            values = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: invalid JSON: {error}; expected one object per line") from error
        if not isinstance(values, dict):
            raise DataError(f'{where}: expected an object with "question" and "context"')
        yield number, where, values


class QuestionAnswering(Task):
    name = ANSWER
    arguments = ReaderModelArguments, QuestionDataArguments, ReaderTrainingArguments
    purpose = "A model for extractive question answering: the answer to a question is a piece of its context."
    use = Use(
        "question-answering", PIPELINE, "AutoModelForQuestionAnswering",
        "[logits.argmax(-1).item() for logits in "
        'model(**tokenizer(text, truncation=True, return_tensors="pt")).values()]',
        fields=FIELDS,
    )  # fmt: skip
    space = Space(
        PIPELINE, 'pipe(question=question, context=context)["answer"]', 'gr.Textbox(label="Answer")', fields=FIELDS
    )
    reads = "It reads a long context in windows. An answer that no window holds cannot be found."
    keys = rb'"(qas|paragraphs|answers)"\s*:'
    unit, fields, refusal = "questions", FIELDS, "the model answers questions"
    read = staticmethod(load_questions)
    outputs = ("Label", {"label": "Answer"}), ("HighlightedText", {"label": "Context"})
    explained = "span"

    def build_tokenizer(self, options: ReaderModelArguments, data: QuestionData, checkpoint: str | None) -> Any:
        texts = list(dict.fromkeys(text for pair in data.texts("train") for text in pair.parts))
        tokenizer = build_tokenizer(options, texts, checkpoint, token_type_ids=True)
        if data.has_unanswerable and tokenizer.cls_token_id is None:
            raise DataError("train has questions without an answer, and the tokenizer has no cls_token to stand for it")
        return tokenizer

    def build_model(self, options: ReaderModelArguments, data: QuestionData, tokenizer: Any) -> Any:
        labels, head = ["start", "end"], "ForQuestionAnswering"
        model = build_model(options, tokenizer, labels, head, problem_type=None, has_pairs=True)
        limit_length(tokenizer, model.config)
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

    def metrics(self, training: Training, split: str) -> "AnswerMetrics":
        return AnswerMetrics(training.answerer, training.data.splits[split], training.encoded[split].parts)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        found = self.metrics(training, split).answers(predicted.predictions)
        evaluation = evaluate_answers(training.data, split, found)
        text = [f"{line} {LONGER_OR_PRETRAINED}"] if (line := evaluation["headline"]) else []
        text.append(f"{asked_of(evaluation)} of the {split} split")
        text += [answer_table(evaluation), kind_table(evaluation)]
        if lost := training.encoded[split].lost:
            text.append(f"{lost:,} answers are in no window (--max_length), and so cannot be found.")
        curve = Curve("loss (nats per start or end)", "eval_f1", "F1 of answers, validation")
        return Report("\n\n".join(text) + "\n", evaluation, curve)

    def results(self, evaluation: Mapping[str, Any]) -> Results:
        split, names = evaluation["split"], {"exact_match": "exact match", "f1": "F1 of words"}
        others = {
            key: "; ".join(f"of the baseline {each['name']}: {percent(each[key])}" for each in evaluation["baselines"])
            for key in names
        }
        metrics = [
            Metric(key, evaluation[key], f"{name}, as of SQuAD; {others[key]}", split) for key, name in names.items()
        ]
        samples = [
            [row["question"], row["answer"] or "(no answer)", ", ".join(row["answers"]) or "(no answer)"]
            for row in evaluation["examples"]
        ]
        title = f"The first questions of the {split} split:"
        text = [
            *([f"**{escaped(evaluation['headline'])}**"] if evaluation["headline"] else []),
            f"On the {asked_of(evaluation)} of the {split} split:",
            answer_table(evaluation),
            kind_table(evaluation),
            *quoted_rows(title, ["question", "this model", "the data"], samples),
        ]
        example = next((TextPair(row["question"], row["context"]) for row in evaluation["examples"]), "")
        return Results("\n\n".join(text), metrics, example)

    def settings(self, config: Any) -> dict[str, Any]:
        found = recorded_settings(config, PIPELINE)
        valid = {name: found[name] for name, kind in SETTINGS.items() if type(found.get(name)) is kind}
        return {name: value for name, value in valid.items() if name != "max_answer_len" or value > 0}

    def sample(self, pipe: Any, *texts: str) -> str:
        return pipe(**dict(zip(FIELDS, texts)))["answer"] or "(no answer)"

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
        notes = [] if arguments.input == "-" else delimiter_notes([Path(arguments.input)], arguments.form)
        print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)

    def columns(self, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        texts = FIELDS if arguments.with_text else ()
        return ["id", *PARTS, *texts, *(["top"] if arguments.top_k else [])]

    def rows(self, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream (row, its texts, question, kept columns). Raises `DataError` that names the entry and the field."""
        path, kept = Path(arguments.input), arguments.kept
        found = typed_rows(arguments) if arguments.input == "-" else file_rows(path, arguments.form)
        for number, where, values in found:
            question = asked(values, where)
            for name in kept.values():
                if name not in values:
                    raise missing_column(name, values, where)
            yield number, question.pair, question, {new: values[name] for new, name in kept.items()}

    def answer(self, answerer: Reader, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        windows = [answerer.windows_of(question) for _, _, question, _ in rows]
        for (row, _, question, kept), found in zip(rows, answerer.best_in(windows, answerer.top_k)):
            best = found[0] if found else dict.fromkeys(PARTS)
            fields = {"id": question.id, "question": question.question, "context": question.context}
            answerer.empty += not found
            answerer.progress(1)
            yield {**fields, **best, "top": found, **kept, "row": row}

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        best = answer[0]
        span = {"entity": "answer", "start": best["start"], "end": best["end"]}
        return [{best["answer"]: best["score"]}, {"text": texts[1], "entities": [span]}]


TASK = QuestionAnswering()
