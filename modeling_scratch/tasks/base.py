# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a task is: how its models are trained, what their card says, and what a saved one answers.

A task is a module in this package with a `Task` of the name TASK, and a row in `PROGRAMS`. No other table has its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..tasks import PROGRAMS
from ..utils.markdown import percent
from .answerer import Answerer
from .card import MODEL, Card
from .page import Page


class Encoded(NamedTuple):
    """A split as the model reads it."""

    rows: Any  # a data set of token ids and labels
    parts: list[Any]  # the last answers of an evaluation to each text
    lost: int = 0  # labels that no row has
    notes: Sequence[str] = ()  # for people

    @classmethod
    def of(cls, columns: Mapping[str, Any], lost: int = 0, notes: Sequence[str] = ()) -> "Encoded":
        from datasets import Dataset  # which takes a second to import, and is needed by trainings alone

        return cls(Dataset.from_dict(dict(columns)), [], lost, notes)


@dataclass
class Training:
    """The parts of one training."""

    options: Any  # of the model
    arguments: Any  # of Trainer
    data: Any
    tokenizer: Any
    model: Any
    answerer: Any = None  # what evaluations ask, where Trainer's predictions are not yet answers
    encoded: dict[str, Encoded] = field(default_factory=dict)  # by split
    weights: Any = ""  # what `settle` did to them
    run: Any = None  # its `Run`
    baselines: Any = None  # trained before it
    stages: Sequence[Any] = ()  # what the report says of what came before

    @property
    def source_tokenizer(self) -> Any:
        return self.tokenizer[0] if isinstance(self.tokenizer, tuple) else self.tokenizer


class Curve(NamedTuple):
    """The learning curve: the unit of the loss, and the key in the log and the name of a score."""

    loss: str
    key: str
    name: str
    is_share: bool = True


class Report(NamedTuple):
    """The results of a run."""

    text: str  # of results.md
    evaluation: dict[str, Any]  # evaluation.json
    quoting: str = ""  # what is printed behind the text, and in results.md only where it may quote texts
    curve: Curve | None = None  # None: that of the task


class Comparison(NamedTuple):
    """How the lab compares variants of a model."""

    presets: Mapping[str, Callable[..., Any]]
    score: str  # that decides
    others: tuple[str, ...]
    options: str  # that are fixed
    arguments: tuple[type, ...] = ()  # those of the task, without defaults that depend on the data


class Task:
    """A task: tables on its models, and then its training, in the order in which `run.train` asks the methods.

    A task whose models come from pretraining alone has no training, and pretraining has no answers of its own.
    """

    name: ClassVar[str]  # that of its module
    card: ClassVar[Card]  # what is said of its models
    answering: ClassVar[type[Answerer] | None] = None  # what predict and the server ask; None: no answers to files
    page: ClassVar[type[Page]] = Page  # of the demo
    refusal: ClassVar[str] = "the model does not classify"  # what its models do, where they are asked for other things
    not_generated: ClassVar[str | None] = "use modeling-scratch predict"  # why `generate` refuses them, if it does
    explained: ClassVar[str] = ""  # what explanations call the task

    arguments: ClassVar[tuple[type, ...]]  # dataclasses of options, for the model and the data, and last Trainer's
    scores: ClassVar[tuple[str, ...]] = ()  # of an evaluation, if they are always the same
    best_by: ClassVar[tuple[str, bool]] = ("f1", True)  # a score, and whether greater is better
    keeps_best: ClassVar[bool] = True  # whether the weights that are best by it are kept by default
    predicts: ClassVar[bool] = True  # whether the report reads Trainer's predictions
    evaluates: ClassVar[tuple[str, ...]] = ("test",)  # where one is reported, validation is scored, too
    curve: ClassVar[Curve] = Curve("loss (nats)", "eval_loss", "loss", is_share=False)  # of the report
    lab: ClassVar[Comparison | None] = None  # None: the lab does not train it

    def __init_subclass__(cls) -> None:
        if answering := vars(cls).get("answering"):  # its own: another task may inherit that of this one
            answering.name = cls.name

    @property
    def program(self) -> str:
        """The name of the program that trains, without .py."""
        return next(program for program, name in PROGRAMS.items() if name == self.name)

    def check(self, *options: Any) -> None:
        """Raise `DataError` for options of several groups that exclude each other, before anything is read."""

    def open(self, *options: Any) -> Any:
        """Return the `Run` of the options; None: it needs no more than they say."""

    def read(self, arguments: Any) -> Any:
        """Return the data: an object with `splits`, `notes`, `digests()`, `describe()` and `texts(split)`."""
        raise NotImplementedError

    def complete(self, run: Any, data: Any) -> None:
        """Complete the arguments of a run by its data, and add stages that come before its training."""

    def score_names(self, data: Any) -> Sequence[str]:
        """Return `scores`, which can depend on the data."""
        return self.scores

    def best(self, data: Any, arguments: Any) -> tuple[str, bool]:
        """Return `best_by`, which can depend on the data."""
        return self.best_by

    def train_baselines(self, run: Any, data: Any) -> Any:
        """Return baselines that are trained before the model, so that what they refuse costs no training."""

    def build_tokenizer(self, options: Any, data: Any, checkpoint: str | None) -> Any:
        """Return the tokenizer, or those of source and target. checkpoint: the one that the run resumes from."""
        raise NotImplementedError

    def build_model(self, options: Any, data: Any, tokenizer: Any) -> Any:
        """Return the model to train, whose configuration records the arguments of its pipeline."""
        raise NotImplementedError

    def answerer(self, training: Training) -> Any:
        """Return what evaluations ask; None if Trainer's predictions are enough."""
        return None

    def encode(self, training: Training, split: str) -> Encoded:
        """Return a split as token ids and labels."""
        raise NotImplementedError

    def trainer(self, training: Training) -> dict[str, Any]:
        """Return further arguments of `RunTrainer`, such as a collator or a loss, and complete those of the user."""
        return {}

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        """Return Trainer's `compute_metrics` for a split."""
        raise NotImplementedError

    def record(self, training: Training) -> dict[str, Any]:
        """Return further entries of the run's record."""
        return {}

    def settle(self, training: Training, trainer: Any) -> None:
        """Choose the weights to save, after the training."""

    def baselines(self, training: Training, split: str) -> list[dict[str, Any]]:
        """Return the names and the scores of baselines, where `evaluate` has nothing else to add."""
        raise NotImplementedError

    def evaluate(self, training: Training, split: str, predicted: Any) -> dict[str, Any]:
        """Return evaluation.json: split, headline, scores, those of baselines with their names, notes and examples."""
        scores, baselines = self.metrics(training, split)(predicted), self.baselines(training, split)
        decisive, _ = self.best(training.data, training.arguments)
        best = max(baselines, key=lambda each: each[decisive])
        about = {"split": split, self.card.unit: len(training.data.splits[split])}
        headline = None
        if scores[decisive] <= best[decisive]:
            values = f"{percent(scores[decisive])} and {percent(best[decisive])}"
            headline = f"The {MODEL} is no better than the baseline ({best['name']}): {decisive} {values}."
        return {**about, "headline": headline, **scores, "baselines": baselines, "notes": [], "examples": []}

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        """Return the scores beside those of the baselines, and write further files to the run's folder."""
        evaluation = self.evaluate(training, split, predicted)
        return Report(self.card.report(evaluation), evaluation)
