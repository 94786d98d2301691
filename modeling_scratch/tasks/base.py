# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a task is: how its models are trained, what their card says, and what a saved one answers.

A task is a module in this package with a `Task` of the name TASK, and a row in `PROGRAMS`. No other table has its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..tasks import PROGRAMS
from .answerer import Answerer
from .card import Card, headline
from .page import Page


class Encoded(NamedTuple):
    """A split as the model reads it.

    rows: a data set of token ids and labels. parts: what the scores need of each text. lost: the number of labels that
    no row has. notes: for people.
    """

    rows: Any
    parts: list[Any]
    lost: int = 0
    notes: Sequence[str] = ()


@dataclass
class Training:
    """The parts of one training. options: of the model; arguments: of Trainer; encoded: by split.

    answerer: what evaluations ask, where Trainer's predictions are not yet answers. weights: what `settle` did to them.
    run: its `Run`. baselines: trained before it. stages: rows of the report on what came before. split_scores: those
    of each split, if they are asked for.
    """

    options: Any
    arguments: Any
    data: Any
    tokenizer: Any
    model: Any
    answerer: Any = None
    encoded: dict[str, Encoded] = field(default_factory=dict)
    weights: Any = ""
    run: Any = None
    baselines: Any = None
    stages: Sequence[Any] = ()
    split_scores: Mapping[str, Any] | None = None

    @property
    def source_tokenizer(self) -> Any:
        return self.tokenizer[0] if isinstance(self.tokenizer, tuple) else self.tokenizer


class Curve(NamedTuple):
    """The learning curve: the unit of the loss, and the key in the log, the name and the format of a score."""

    loss: str
    key: str
    name: str
    form: str = "{:.2%}"
    greater_is_better: bool = True


class Report(NamedTuple):
    """The results of a run: results.md as Markdown, and evaluation.json; None if the task has written all itself."""

    text: str
    evaluation: dict[str, Any] | None = None


class Comparison(NamedTuple):
    """How the lab compares variants of a model: the presets, the score that decides, others, and fixed options.

    arguments: those of the task, without defaults that depend on the data.
    """

    presets: Mapping[str, Callable[..., Any]]
    score: str
    others: tuple[str, ...]
    options: str
    arguments: tuple[type, ...] = ()


class Task:
    """A task. The methods are its training in the order in which `run.train` asks them; all else are tables.

    A task whose models come from pretraining alone has no training, and pretraining has no answers of its own.

    name: that of its module. card: what is said of its models. answering: what predict and the server ask; None if a
    model gives no answers to files. page: of the demo. refusal: what its models do, where they are
    asked for something else. not_generated: why `generate` refuses them, if it does. explained: what explanations call
    the task. files, keys: formats of training files that are no tables, and a pattern at the start of others, such as
    JSON.

    arguments: dataclasses of options for the model and the data, and last Trainer's. scores: those of an evaluation,
    if they are always the same. best_by: the one that chooses the epoch, and whether greater is better; None if the
    options choose. predicts: whether the report reads Trainer's predictions. evaluates: where a run that reports one
    of these splits is scored on validation at its end. curve: of the report. lab: None if the lab does not train it.
    """

    name: ClassVar[str]
    card: ClassVar[Card]
    answering: ClassVar[type[Answerer] | None] = None
    page: ClassVar[type[Page]] = Page
    refusal: ClassVar[str] = "the model does not classify"
    not_generated: ClassVar[str | None] = "use modeling-scratch predict"
    explained: ClassVar[str] = ""
    files: ClassVar[frozenset[str]] = frozenset()
    keys: ClassVar[bytes] = rb"(?!)"

    arguments: ClassVar[tuple[type, ...]]
    scores: ClassVar[tuple[str, ...]] = ()
    best_by: ClassVar[tuple[str, bool] | None] = ("f1", True)
    predicts: ClassVar[bool] = True
    evaluates: ClassVar[tuple[str, ...]] = ("test",)
    curve: ClassVar[Curve] = Curve("loss (nats)", "eval_loss", "loss")
    lab: ClassVar[Comparison | None] = None

    @property
    def program(self) -> str:
        """The name of the program that trains, without .py."""
        return next(program for program, name in PROGRAMS.items() if name == self.name)

    def check(self, *options: Any) -> None:
        """Raise `DataError` for options of several groups that exclude each other, before anything is read."""

    def read(self, arguments: Any) -> Any:
        """Return the data: an object with `splits`, `notes`, `digests()`, `describe()` and `texts(split)`."""
        raise NotImplementedError

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

    def best(self, data: Any, arguments: Any) -> tuple[str, bool] | None:
        """Return `best_by`, which can depend on the data."""
        return self.best_by

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
        scores = {**self.metrics(training, split)(predicted), "baselines": self.baselines(training, split)}
        decisive, _ = self.best(training.data, training.arguments) or ("loss", False)
        about = {"split": split, self.card.unit: len(training.data.splits[split])}
        return {**about, "headline": headline(scores, decisive, decisive), **scores, "notes": [], "examples": []}

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        """Return the scores beside those of the baselines, and write further files to the run's folder."""
        evaluation = self.evaluate(training, split, predicted)
        return Report(self.card.report(evaluation), evaluation)
