# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a task is: tables and methods that training, predict, serve, demo, cards and the others ask.

A task is a module in this package with a `Task` of the name TASK, and a row in `PROGRAMS`. No other table has its name.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TextIO

from tqdm import tqdm
from transformers import DataCollatorWithPadding

from ..data.encoded_texts import in_chunks
from ..inference.arguments import PredictArguments, refuse
from ..inference.rows import check_input, read_input, row_writer, tell
from ..tasks import PROGRAMS
from ..utils.errors import DataError
from ..utils.files import open_output
from ..utils.markdown import escaped, percent, quoted_rows, table
from .answerer import Answerer
from .page import Component, Page

LONGER_OR_PRETRAINED = "Train longer (--num_train_epochs), or fine-tune a pretrained encoder (--model_name_or_path)."
EXAMPLES = 5  # of a split that a card quotes
FileRow = tuple[Any, ...]  # of a file: its number, its text, others, and last the columns to keep


# Training


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
    run: its `Run`. baselines: those of `before_training`. stages: rows of the report on what came before.
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


# Model cards


class Use(NamedTuple):
    """The use of a model: the Hub's tag, pipeline, Auto class and an expression for its answer.

    options: further arguments of the pipeline. fields: of a pair, in the pipeline's input. given: the expression for
    the input, of the text and the tokenizer. is_prompt: whether one word of a text is enough.
    """

    tag: str | None
    pipeline: str
    auto_class: str
    answer: str
    options: Mapping[str, Any] = {}
    fields: tuple[str, str] = ("text", "text_pair")
    given: str = "{text}"
    is_prompt: bool = False


class Metric(NamedTuple):
    """A metric for the Hub: id, value, description and split."""

    id: str
    value: float
    name: str
    split: str


class Results(NamedTuple):
    """The Markdown text, the metrics, and an example input, which can be a pair of texts; "" without one."""

    text: str
    metrics: list[Metric]
    example: str


class Space(NamedTuple):
    """The app of a Space: its pipeline, with the arguments `options`, and its answer, as Python code.

    fields, output: the names of the texts, and the first of the outputs of the page. settings: components by argument.
    """

    task: str
    answer: str
    settings: Mapping[str, Component] = {}
    fields: tuple[str, ...] = ()
    output: Component = ("JSON", {"label": "Answer"})
    options: str = ""


# The lab


class Comparison(NamedTuple):
    """How the lab compares variants of a model: the presets, the score that decides, others, and fixed options.

    arguments: those of the task, without defaults that depend on the data.
    """

    presets: Mapping[str, Callable[..., Any]]
    score: str
    others: tuple[str, ...]
    options: str
    arguments: tuple[type, ...] = ()


# Scores beside those of baselines


def baselines_of(evaluation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the names and scores of the baselines; evaluations of earlier versions have one."""
    return evaluation["baselines"] if "baselines" in evaluation else [evaluation["baseline"]]


def headline(evaluation: Mapping[str, Any], score: str, name: str, constant: str | None) -> str | None:
    """Return what a report says first of a model that nobody should use, or None.

    score: the key of the one that decides, and name: its name. constant: what the model answers to everything.
    """
    best = max(baselines_of(evaluation), key=lambda each: each[score])
    if evaluation[score] == 1:
        return None
    if constant:
        return f"The Transformer {constant}: it has not learned."
    if evaluation[score] > best[score]:
        return None
    values = " and ".join(percent(scores[score]) for scores in (evaluation, best))
    return f"The Transformer is no better than the baseline ({best['name']}): {name} {values}."


def shares_table(head: str, rows: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return a Markdown table of shares, intervals and counts. columns: the heads of keys, or of paths of keys."""
    cells = [[name, *(_cell(reduce(getitem, key.split("."), row)) for key in columns)] for name, row in rows.items()]
    return table([head, *columns.values()], cells)


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return percent(value) if isinstance(value, float) else " to ".join(map(percent, value))


def _of_baselines(evaluation: Mapping[str, Any], key: str) -> list[str]:
    return [f"of the baseline {each['name']}: {percent(each[key])}" for each in baselines_of(evaluation)]


def scores_table(evaluation: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    """Return the `shares_table` of the model and of the baselines."""
    others = {str(each["name"]): each for each in baselines_of(evaluation)}
    return shares_table("", {"Transformer": evaluation, **others}, columns)


# Tasks


def record_settings(config: Any, task: str, **settings: Any) -> None:
    """Record the arguments of the pipeline that a model was trained and evaluated with."""
    others = getattr(config, "task_specific_params", None) or {}
    config.task_specific_params = {**others, task: settings}


def recorded_settings(config: Any, task: str) -> dict[str, Any]:
    """Return what a model's configuration records of the pipeline of a task; nothing of an invalid record."""
    every = getattr(config, "task_specific_params", None)
    found = every.get(task) if isinstance(every, dict) else None
    return found if isinstance(found, dict) else {}


class Task:
    """A task. The methods of its training come first, then those of its card and of its use.

    A task whose models come from pretraining alone has no training, and pretraining has no use.

    name: that of its module. arguments: dataclasses of options for the model and the data, and last Trainer's. loss:
    its `compute_loss_func`; None for the model's own. best_by: the score that chooses the epoch, and whether greater is
    better; None if the options choose. scores: those of an evaluation, if they are always the same. predicts: whether
    the report reads Trainer's predictions. evaluates: where a run that reports one of these splits is scored on
    validation at its end. reports_everywhere: whether each process takes part in the report. curve: of the report.
    samples: how many texts the saved model answers at the end. lab: None if the lab does not train it.
    """

    curve: ClassVar[Curve] = Curve("loss (nats)", "eval_loss", "loss")
    name: ClassVar[str]
    arguments: ClassVar[tuple[type, ...]]
    loss: ClassVar[Callable[..., Any] | None] = None
    best_by: ClassVar[tuple[str, bool] | None] = ("f1", True)
    scores: ClassVar[tuple[str, ...]] = ()
    predicts: ClassVar[bool] = True
    evaluates: ClassVar[tuple[str, ...]] = ("test",)
    reports_everywhere: ClassVar[bool] = False
    samples: ClassVar[int] = 3
    lab: ClassVar[Comparison | None] = None

    # purpose, use: of the card; purpose is a format of the record's entries. space: the app. reads: what the card says
    # of long texts; None: the limit.
    purpose: ClassVar[str]
    use: ClassVar[Use]
    space: ClassVar[Space]
    reads: ClassVar[str | None] = None

    # files: formats of training files that are no tables. keys: a pattern at the start of others, such as JSON.
    files: ClassVar[frozenset[str]] = frozenset()
    keys: ClassVar[bytes] = rb"(?!)"

    # unit, refusal: of predict, and why it refuses options of classifiers. fields: the texts that the model reads.
    # columns_of_answers: one of them is in the output. outputs: of the page. explained: what explanations call it.
    # not_generated: why `generate` refuses its models, if it does. serves: predict and the server have its answers.
    unit: ClassVar[str] = "texts"
    refusal: ClassVar[str] = "the model does not classify"
    fields: ClassVar[tuple[str, ...]] = ("text",)
    columns_of_answers: ClassVar[tuple[str, ...]] = ("answer",)
    outputs: ClassVar[Sequence[Component]] = (("JSON", {"label": "Answer"}),)
    explained: ClassVar[str] = ""
    not_generated: ClassVar[str | None] = "use modeling-scratch predict"
    serves: ClassVar[bool] = True

    @property
    def program(self) -> str:
        """The name of the program that trains, without .py."""
        return next(program for program, name in PROGRAMS.items() if name == self.name)

    def check(self, *options: Any) -> None:
        """Raise `DataError` for options of several groups that exclude each other, before anything is read."""

    def open(self, *options: Any) -> Any:
        """Return the `Run` of these options; None for one that has no other parts than its training."""
        return None

    def read(self, arguments: Any) -> Any:
        """Return the data: an object with `splits`, `notes`, `digests()`, `describe()` and `texts(split)`."""
        raise NotImplementedError

    def complete(self, run: Any, data: Any) -> None:
        """Complete the options of a run by its data, and add the stages before its training."""

    def before_training(self, run: Any, data: Any) -> Any:
        """Do what should not fail after hours: train baselines, and rehearse what follows stages. Return baselines."""
        return None

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

    def collate(self, training: Training) -> Any:
        """Return the function that makes batches of rows."""
        return DataCollatorWithPadding(training.source_tokenizer)

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        """Return Trainer's `compute_metrics` for a split."""
        raise NotImplementedError

    def best(self, data: Any, arguments: Any) -> tuple[str, bool] | None:
        """Return the score that chooses the epoch, and whether greater is better."""
        return self.best_by

    def kept_of(self, outputs: Any, labels: Any) -> Any:
        """Return what the metrics read of the outputs for a batch."""
        return outputs

    def trainer(self, training: Training) -> dict[str, Any]:
        """Return further arguments of `RunTrainer`, and complete those of the training."""
        return {}

    def settle(self, training: Training, trainer: Any) -> None:
        """Choose the weights to save, after the training."""

    def baselines(self, training: Training, split: str) -> list[dict[str, Any]]:
        """Return the names and the scores of baselines."""
        raise NotImplementedError

    def evaluate(self, training: Training, split: str, predicted: Any) -> dict[str, Any]:
        """Return evaluation.json: split, headline, scores, those of baselines with their names, notes and examples."""
        scores = {**self.metrics(training, split)(predicted), "baselines": self.baselines(training, split)}
        line = headline(scores, self.decisive, self.decisive, None)
        about = {"split": split, self.unit: len(training.data.splits[split]), "headline": line}
        return {**about, **scores, "notes": [], "examples": []}

    @property
    def decisive(self) -> str:
        """The score that chooses the epoch."""
        return self.best_by[0] if self.best_by else "loss"

    def evaluated(self, evaluation: Mapping[str, Any]) -> str:
        """Return what was evaluated, such as the number of texts."""
        return f"{evaluation[self.unit]:,} {self.unit}"

    def definitions(self, evaluation: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the scores of evaluation.json that the Hub gets, with their definitions."""
        return {self.decisive: self.decisive}

    def tables(self, evaluation: Mapping[str, Any]) -> list[str]:
        """Return the scores of the model and of the baselines in Markdown."""
        return [scores_table(evaluation, self.definitions(evaluation))]

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        """Return the scores beside those of the baseline, and write further files to the run's folder."""
        evaluation = self.evaluate(training, split, predicted)
        line = evaluation["headline"]
        text = [f"{line} {LONGER_OR_PRETRAINED}"] if line else []
        text += [f"{self.evaluated(evaluation)} of the {split} split", *self.tables(evaluation), *evaluation["notes"]]
        return Report("\n\n".join(text) + "\n", evaluation)

    def notes(self, data: Any) -> list[str]:
        """Return what the run's record says of the data."""
        return data.notes

    def record(self, training: Training) -> dict[str, Any]:
        """Return further entries of the run's record."""
        return {}

    def sample_texts(self, training: Training, split: str) -> list[Any]:
        """Return the texts that the saved model answers at the end."""
        return training.data.texts(split)[: self.samples]

    def next_commands(self, folder: Path, data: Any) -> list[str]:
        """Return commands that use the saved model, a line each."""
        return []

    # Card

    def purpose_of(self, record: Mapping[str, Any]) -> str:
        """Return the purpose of the model of a run."""
        return self.purpose

    def use_of(self, record: Mapping[str, Any]) -> Use:
        """Return the use of the model of a run."""
        return self.use

    def limits_of(self, record: Mapping[str, Any]) -> Sequence[str]:
        """Return what the card says of the answers of the model of a run."""
        return ()

    def quoted(self, example: Mapping[str, Any]) -> dict[str, str]:
        """Return the cells of an example of evaluation.json in a card, by their heads."""
        return {}

    def asked(self, example: Mapping[str, Any]) -> Any:
        """Return the text, or the pair, of an example of evaluation.json."""
        return example["text"]

    def results(self, evaluation: Mapping[str, Any]) -> Results:
        """Return the results section of a card, from evaluation.json."""
        split, examples = evaluation["split"], evaluation["examples"]
        metrics = [
            Metric(key, evaluation[key], "; ".join([name, *_of_baselines(evaluation, key)]), split)
            for key, name in self.definitions(evaluation).items()
        ]
        quoted = [self.quoted(each) for each in examples]
        heads = list(quoted[0]) if quoted else []
        text = [
            *([f"**{escaped(evaluation['headline'])}**"] if evaluation["headline"] else []),
            f"On the {self.evaluated(evaluation)} of the {split} split:",
            *self.tables(evaluation),
            *evaluation.get("notes", []),
            *quoted_rows(f"The first of the {split} split:", heads, [[*each.values()] for each in quoted]),
        ]
        return Results("\n\n".join(text), metrics, self.asked(examples[0]) if examples else "")

    # Use

    def settings(self, config: Any) -> dict[str, Any]:
        """Return the arguments of the pipeline that a model was trained and evaluated with."""
        return {}

    def sample(self, pipe: Any, *texts: str) -> str:
        """Return what a pipeline answers to a text, or to a pair, as one line."""
        return ""

    def space_of(self, config: Any, has_pairs: bool) -> Space:
        """Return the app for a model. has_pairs: it reads pairs of texts."""
        options = [f", {name}={json.dumps(value)}" for name, value in self.settings(config).items()]
        return self.space._replace(fields=self.fields, output=self.outputs[0], options="".join(options))

    def explained_as(self, config: Any) -> str:
        """Return what explanations call the task of a model."""
        return self.explained

    def load(self, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> Answerer:
        """Load a saved model. limits: the most that a request of a server may ask for, by option."""
        raise NotImplementedError

    def page(self, arguments: PredictArguments) -> Page:
        """Load a saved model with what a page shows of it."""
        return Page(self, self.load(arguments))

    def refused(self, arguments: PredictArguments) -> dict[str, Any]:
        """Return the options of predict that the task has no use for, and whether they are given."""
        given: dict[str, Any] = {"--threshold": arguments.threshold is not None, "--explain": arguments.explain}
        return {**given, "--top_k": arguments.top_k, "--text_column with two names": arguments.has_pairs}

    def prepare(self, arguments: PredictArguments) -> None:
        """Find the column of texts. Raise `DataError` for options without a use here, and for taken columns."""
        if not self.serves:
            raise DataError(f"--model {arguments.model}: {self.refusal}")
        refuse(self.refused(arguments), self.refusal)
        if len(self.fields) == 1:
            arguments.check_answer([*(["text"] if arguments.with_text else []), *self.columns_of_answers])
            arguments.name_columns()

    def rows(self, arguments: PredictArguments) -> Iterator[FileRow]:
        """Stream the rows of the input."""
        return read_input(arguments)

    def column(self, answerer: Any) -> str:
        """Return the column of the answers to texts."""
        return self.columns_of_answers[0]

    def columns(self, arguments: PredictArguments, answerer: Any) -> list[str]:
        """Return the columns of predict's output behind the row and the kept ones."""
        return [*(["text"] if arguments.with_text else []), self.column(answerer)]

    def writer(self, handle: TextIO, arguments: PredictArguments, answerer: Any) -> Callable[[dict[str, Any]], object]:
        """Return the function that writes the values of an answer to predict's output."""
        return row_writer(handle, arguments, self.columns(arguments, answerer))

    def answer(self, answerer: Any, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        """Return the answers to rows, with the values of all columns."""
        for (row, text, kept), answer in zip(rows, answerer.answer([text for _, text, _ in rows])):
            yield {"text": text, self.column(answerer): answer, **kept, "row": row}

    def predict(self, arguments: PredictArguments) -> None:
        """Answer every row of the input, in its order. Raises `DataError` for an invalid input or model."""
        self.prepare(arguments)
        check_input(arguments, self.rows)
        answerer, hides = self.load(arguments), arguments.no_progress or None
        with open_output(arguments.output) as handle, tqdm(unit=f" {self.unit}", disable=hides) as bar:
            write, answerer.progress = self.writer(handle, arguments, answerer), bar.update
            for chunk in in_chunks(self.rows(arguments)):
                for line in self.answer(answerer, chunk):
                    write(line)
                handle.flush()
        tell(answerer.counts)

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        """Return the values of `outputs` for an answer."""
        return [answer]
