# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the lab trains: the tasks with their fixed settings, and the rooms of training that carry them out."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, Trainer

from .. import presets
from ..configuration_scratch import ScratchConfig
from ..data.documents import DocumentArguments, load_documents
from ..data.splits import DataArguments
from ..run import objectives, pretraining
from ..run import train as run_train
from ..run.classifier_arguments import ClassifierTrainingArguments
from ..run.encoder_models import ModelArguments
from ..run.life_cycle import Run
from ..tasks import CLASSIFY, TRANSLATE, module_of
from ..utils.errors import DataError

EVALUATIONS = 5  # of each run, at equal intervals; the last one is that of the final weights
# Of every run: the last weights count, and a checkpoint is saved with each evaluation.
SETTINGS = (
    f"--eval_strategy steps --eval_steps {1 / EVALUATIONS} --save_strategy steps --save_steps {1 / EVALUATIONS} "
    "--save_total_limit 1 --load_best_model_at_end False --logging_steps 0.05 --disable_tqdm True --report_to none"
)
Options = tuple[type, type, type]  # the argument dataclasses: model, data, training


@dataclass(frozen=True)
class Kind:
    """A training program in parts. In all of them, a run holds the arguments and inputs is what `read` returned.

    read: the data and the tokenizers; build: a new model, of these model arguments; train: prepare and train.
    score: what variants are compared by; others: further scores of an evaluation that are shown.
    """

    program: str
    options: Options
    presets: Mapping[str, Callable[..., ScratchConfig]]
    read: Callable[[Run], Any]
    build: Callable[[Any, Any], PreTrainedModel]
    train: Callable[[Run, Any], Trainer]
    score: str
    others: tuple[str, ...]
    settings: str


def read_documents(run: Run) -> Any:
    documents = load_documents(run.groups["data"])
    run.check_data(documents.digests())
    return documents, objectives.build_tokenizer(run.groups["model"], documents.train, run.checkpoint)


def build_writer(arguments: objectives.PretrainingModelArguments, inputs: Any) -> PreTrainedModel:
    return objectives.build_model(arguments, inputs[1])


def train_writer(run: Run, inputs: Any) -> Trainer:
    trainer, _ = pretraining.start(run, *inputs)
    run.train(trainer)
    return trainer


def kind_of(
    name: str,
    presets_of: Mapping[str, Callable[..., ScratchConfig]],
    *scores: str,
    settings: str,
    options: Options | None = None,
) -> "Kind":
    """Return the kind of a task with a module.

    scores: the one that variants are compared by, and others. options: the task's without defaults by its data.
    """
    task = module_of(name)

    def train(run: Run, inputs: Any) -> Trainer:
        _, trainer = run_train.start(task, run, *inputs)
        run.train(trainer)
        return trainer

    def build(arguments: Any, inputs: Any) -> PreTrainedModel:
        return task.build_model(arguments, *inputs)

    def read(run: Run) -> Any:
        data = run_train.read(task, run)
        return data, task.build_tokenizer(run.groups["model"], data, run.checkpoint)

    program = f"scripts/{task.program}.py"
    return Kind(program, options or task.arguments, presets_of, read, build, train, scores[0], scores[1:], settings)


CLASSIFICATION = kind_of(
    CLASSIFY, presets.ENCODERS, "accuracy", "loss", settings="--ema_decay 0 --no_calibrate --num_train_epochs 1",
    options=(ModelArguments, DataArguments, ClassifierTrainingArguments),
)  # fmt: skip
WRITING = Kind(
    pretraining.PROGRAM,
    (objectives.PretrainingModelArguments, DocumentArguments, pretraining.PretrainingArguments),
    presets.DECODERS, read_documents, build_writer, train_writer, "loss", ("perplexity",),
    "--objective clm --validation_fraction 0.05",
)  # fmt: skip
TRANSLATION = kind_of(TRANSLATE, presets.SEQ2SEQS, "loss", "bleu", settings="--average_checkpoints 1 --num_beams 1")


@dataclass(frozen=True)
class Task:
    """A task: its kind, the preset of its base model, the steps of a run, and its other settings."""

    kind: Kind
    preset: str
    max_steps: int
    settings: str

    @property
    def options(self) -> list[str]:
        """The command line of a run, without its data, its steps, its seed, its folder and its changes."""
        return shlex.split(f"{SETTINGS} {self.kind.settings} {self.settings} --preset {self.preset}")


REVIEWS = "--learning_rate 2e-3 --per_device_train_batch_size 64 --max_eval_samples 1000"
PLAYS = "--per_device_train_batch_size 12 --learning_rate 4e-3 --warmup_steps 0.05 --adam_beta2 0.99"
TASKS = {
    "demo": Task(CLASSIFICATION, "demo", 900, REVIEWS),
    "sst2": Task(CLASSIFICATION, "reviews", 400, f"{REVIEWS} --max_train_samples 10000 --max_length 64"),
    "imdb": Task(
        CLASSIFICATION, "reviews", 300, f"{REVIEWS} --max_train_samples 10000 --max_length 256 --vocab_size 8000"
    ),
    "plays": Task(WRITING, "plays", 600, f"--block_size 64 {PLAYS} --tokenizer_kind character"),
    "multi30k": Task(
        TRANSLATION, "captions", 1_000,
        "--per_device_train_batch_size 64 --warmup_steps 0.2 --learning_rate 2e-3 --max_eval_samples 300 "
        "--max_length 64 --source_column en --target_column de",
    ),
}  # fmt: skip
# Of a user's own data: a folder of labelled texts, or text to write like.
OWN_TEXTS = Task(CLASSIFICATION, "reviews", 400, f"{REVIEWS} --max_length 256")
OWN_WRITING = Task(WRITING, "plays", 600, f"--block_size 128 {PLAYS} --vocab_size 2000")
NEEDED = {"sst2": "a folder with train.* and validation.*", "imdb": "a folder with train.* and test.*, or aclImdb"}
NEEDED |= {"plays": "a text file, or a folder of .txt files", "multi30k": "a folder with train.* and validation.*"}


def find_task(name: str, data: str | None) -> tuple[Task, list[str]]:
    """Return a task and the options of its data. name: that of a task, or the path of a folder or a text file."""
    if name in TASKS:
        if (data is None) != (name == "demo"):
            reason = "its reviews are generated: leave --data_dir out" if data else f"give --data_dir, {NEEDED[name]}"
            raise DataError(f"--task {name}: {reason}")
        return TASKS[name], _data_options(TASKS[name].kind, data)
    if data is not None:
        raise DataError(f"--task {name}: this is the data itself; leave --data_dir out")
    if not Path(name).exists():
        raise DataError(f"--task {name}: no such folder or file; the tasks are {', '.join(TASKS)}")
    task = OWN_WRITING if text_files(Path(name)) else OWN_TEXTS
    return task, _data_options(task.kind, name)


def text_files(path: Path) -> list[str]:
    """Return the text file, or those of a folder without the one of a test split."""
    found = sorted(path.glob("*.txt")) if path.is_dir() else [path] if path.suffix.lower() == ".txt" else []
    return [str(file) for file in found if not file.name.startswith(("test", "README"))]


def _data_options(kind: Kind, data: str | None) -> list[str]:
    if data is None:
        return []
    if kind is not WRITING:
        return ["--data_dir" if Path(data).is_dir() else "--train_file", data]
    files = text_files(Path(data))
    held_out = [name for name in files if Path(name).name.startswith("val")]
    train = [name for name in files if name not in held_out]
    if not train:
        raise DataError(f"--data_dir {data}: no text file (.txt) to train on")
    return ["--train_file", *train, *(["--validation_file", *held_out] if held_out else [])]


def with_overrides(kind_arguments: Any, overrides: Sequence[str]) -> Any:
    """Return model arguments with these --config_overrides."""
    return replace(kind_arguments, config_overrides=",".join(overrides) or None)
