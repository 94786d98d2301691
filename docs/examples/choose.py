# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A task in one file: choose the right one of several answers to a question (multiple choice).

p(choice) = softmax over the choices of w · encoder(question, choice)    (Radford et al. 2018, 3.3)

The data are those of question answering. A context has the choices, one a line and equally many for each question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import datasets
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding, TextClassificationPipeline

from ..data.questions import QuestionData, QuestionDataArguments, asked_rows, load_questions
from ..inference.arguments import PredictArguments
from ..inference.batches import Job
from ..inference.loading import load_head
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, model_with_head, tokenizer_of_head
from . import RECORDED
from .answerer import Answerer, FileRow
from .base import Curve, Encoded, Task, Training
from .card import Card, Use


def pairs_of(question: str, context: str) -> tuple[list[str], list[str]]:
    choices = context.splitlines()
    return [question] * len(choices), choices


class Chooser(Answerer):
    unit, fields = "questions", ("question", "context")
    summary = "Choose the right one of several answers to a question."
    asks, answers = "A question with its choices, one a line.", dict[str, str | float]

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Chooser":
        model, tokenizer = load_head(arguments, AutoModelForSequenceClassification, "not trained to choose")
        return cls(TextClassificationPipeline(model=model, tokenizer=tokenizer), batch_size=arguments.batch_size)

    @classmethod
    def rows(cls, arguments: PredictArguments) -> Iterator[FileRow]:
        for number, question, kept in asked_rows(arguments.input, arguments.form, arguments.kept):
            yield number, question.pair, kept

    def job_of(self, text: Any, options: Mapping[str, Any]) -> Job:
        questions, choices = pairs_of(*text.parts)
        encoded = self.pipe.tokenizer(questions, choices, truncation=True)
        rows = [dict(zip(encoded, values)) for values in zip(*encoded.values())]
        ids = [token for row in encoded["input_ids"] for token in row]
        return Job({"input_ids": ids, "rows": rows, "choices": choices}, len(ids))

    @torch.inference_mode()
    def run(self, jobs: Sequence[Job]) -> list[Any]:
        rows = [row for job in jobs for row in job.features["rows"]]
        logits = self.pipe.model(**DataCollatorWithPadding(self.pipe.tokenizer)(rows).to(self.pipe.device)).logits
        of_jobs = logits.flatten().split([len(job.features["rows"]) for job in jobs])
        best = (each.softmax(-1).max(-1) for each in of_jobs)
        return [{"answer": job.features["choices"][at], "score": p.item()} for job, (p, at) in zip(jobs, best)]


def loss_of_choices(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
    """logits (B C, 1), labels (B,): -log p(right choice), the mean over questions."""
    total = cross_entropy(outputs["logits"].view(len(labels), -1), labels, reduction="sum")
    return total / (len(labels) if num_items_in_batch is None else num_items_in_batch)


def of_questions(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.view(len(labels), -1)  # one row a question, as Trainer counts them


class Choosing(Task):
    name, refusal, answering = "choose", "the model chooses answers", Chooser
    card = Card(
        "A model that chooses the right one of several answers to a question.",
        Use(*["text-classification"] * 2, "AutoModelForSequenceClassification"),
        unit="questions", scores={"accuracy": "accuracy"},
    )  # fmt: skip
    arguments = HeadModelArguments, QuestionDataArguments, HeadTrainingArguments
    best_by, curve = ("accuracy", True), Curve("loss (nats)", "eval_accuracy", "accuracy")
    read, build_tokenizer = staticmethod(load_questions), staticmethod(tokenizer_of_head)

    def build_model(self, options: Any, data: QuestionData, tokenizer: Any) -> Any:
        about = {"head": "ForSequenceClassification", "problem_type": "regression", "has_pairs": True}
        model = model_with_head(options, tokenizer, ["score"], **about)
        model.config.task_specific_params = {RECORDED: self.name}  # the head is that of classifiers
        return model

    def encode(self, training: Training, split: str) -> Encoded:
        rows = training.data.splits[split]
        encoded = [training.tokenizer(*pairs_of(*each.pair.parts), truncation=True) for each in rows]
        columns = {name: [each[name] for each in encoded] for name in encoded[0]}
        labels = [each.context.splitlines().index(each.answers[0].text) for each in rows]
        return Encoded(datasets.Dataset.from_dict({**columns, "labels": labels}), [])

    def trainer(self, training: Training) -> dict[str, Any]:
        pad = DataCollatorWithPadding(training.tokenizer)

        def collate(rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
            names = [name for name in rows[0] if name != "labels"]
            flat = [dict(zip(names, values)) for row in rows for values in zip(*(row[name] for name in names))]
            return {**pad(flat), "labels": torch.tensor([row["labels"] for row in rows])}

        by_question = {"compute_loss_func": loss_of_choices, "preprocess_logits_for_metrics": of_questions}
        return {"data_collator": collate, **by_question}

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        return lambda found: {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())}

    def baselines(self, training: Training, split: str) -> list[dict[str, Any]]:
        return [{"name": "chance", "accuracy": 1 / len(training.data.splits[split][0].context.splitlines())}]


TASK = Choosing()
