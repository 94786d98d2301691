# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the lab trains: data sets and people's own files, each with its task and fixed settings."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..tasks import CLASSIFY, PRETRAIN, TRANSLATE, named
from ..tasks.base import Comparison, Task
from ..utils.command_line import parsed
from ..utils.errors import DataError

EVALUATIONS = 5  # of each run, at equal intervals; the last one is that of the final weights
# Of every run: the last weights count, and a checkpoint is saved with each evaluation.
SETTINGS = (
    f"--eval_strategy steps --eval_steps {1 / EVALUATIONS} --save_strategy steps --save_steps {1 / EVALUATIONS} "
    "--save_total_limit 1 --load_best_model_at_end False --logging_steps 0.05 --disable_tqdm True --report_to none"
)


@dataclass(frozen=True)
class Experiment:
    """What is trained: the name of a task, the preset of its base model, the steps of a run, and its settings."""

    name: str
    preset: str
    max_steps: int
    settings: str

    @property
    def task(self) -> Task:
        return named(self.name)

    @property
    def comparison(self) -> Comparison:
        assert self.task.lab
        return self.task.lab

    @property
    def program(self) -> str:
        return f"scripts/{self.task.program}.py"

    @property
    def options(self) -> list[str]:
        """The command line of a run, without its data, its steps, its seed, its folder and its changes."""
        return shlex.split(f"{SETTINGS} {self.comparison.options} {self.settings} --preset {self.preset}")

    def groups(self, options: Sequence[str], changes: Sequence[str], seed: int, folder: str) -> dict[str, Any]:
        """Return the arguments of a run by group. changes: to the configuration, behind those of all runs."""
        given = [*options, "--seed", str(seed), "--output_dir", folder]
        model, data, training = parsed(self.comparison.arguments or self.task.arguments, given, raises=True)
        training.include_num_input_tokens_seen = "non_padding"  # which the command line cannot say
        return {"model": with_changes(model, changes), "data": data, "training": training}


def with_changes(model: Any, changes: Sequence[str]) -> Any:
    """Return the arguments of a model with further --config_overrides."""
    return replace(model, config_overrides=",".join(filter(None, [model.config_overrides, *changes])) or None)


REVIEWS = "--learning_rate 2e-3 --per_device_train_batch_size 64 --max_eval_samples 1000"
PLAYS = "--per_device_train_batch_size 12 --learning_rate 4e-3 --warmup_steps 0.05 --adam_beta2 0.99"
TASKS = {
    "demo": Experiment(CLASSIFY, "demo", 1_500, f"{REVIEWS} --demo_words common"),
    "sst2": Experiment(CLASSIFY, "reviews", 400, f"{REVIEWS} --max_train_samples 10000 --max_length 64"),
    "imdb": Experiment(
        CLASSIFY, "reviews", 300, f"{REVIEWS} --max_train_samples 10000 --max_length 256 --vocab_size 8000"
    ),
    "plays": Experiment(PRETRAIN, "plays", 600, f"--block_size 64 {PLAYS} --tokenizer_kind character"),
    "multi30k": Experiment(
        TRANSLATE, "captions", 1_000,
        "--per_device_train_batch_size 64 --warmup_steps 0.2 --learning_rate 2e-3 --max_eval_samples 300 "
        "--max_length 64 --source_column en --target_column de",
    ),
}  # fmt: skip
# Of a user's own data: a folder of labelled texts, or text to write like.
OWN_TEXTS = Experiment(CLASSIFY, "reviews", 400, f"{REVIEWS} --max_length 256")
OWN_WRITING = Experiment(PRETRAIN, "plays", 600, f"--block_size 128 {PLAYS} --vocab_size 2000")
NEEDED = {"sst2": "a folder with train.* and validation.*", "imdb": "a folder with train.* and test.*, or aclImdb"}
NEEDED |= {"plays": "a text file, or a folder of .txt files", "multi30k": "a folder with train.* and validation.*"}


def find_task(name: str, data: str | None) -> tuple[Experiment, list[str]]:
    """Return a task and the options of its data. name: that of a task, or the path of a folder or a text file."""
    if name in TASKS:
        if (data is None) != (name == "demo"):
            reason = "its reviews are generated: leave --data_dir out" if data else f"give --data_dir, {NEEDED[name]}"
            raise DataError(f"--task {name}: {reason}")
        return TASKS[name], _data_options(TASKS[name], data)
    if data is not None:
        raise DataError(f"--task {name}: this is the data itself; leave --data_dir out")
    if not Path(name).exists():
        raise DataError(f"--task {name}: no such folder or file; the tasks are {', '.join(TASKS)}")
    task = OWN_WRITING if text_files(Path(name)) else OWN_TEXTS
    return task, _data_options(task, name)


def text_files(path: Path) -> list[Path]:
    """Return the text file, or those of a folder without the one of a test split."""
    found = sorted(path.glob("*.txt")) if path.is_dir() else [path] if path.suffix.lower() == ".txt" else []
    return [file for file in found if not file.name.startswith(("test", "README"))]


def _data_options(experiment: Experiment, data: str | None) -> list[str]:
    if data is None:
        return []
    if experiment.name != PRETRAIN:  # whose files are texts, and no tables
        return ["--data_dir" if Path(data).is_dir() else "--train_file", data]
    options: dict[str, list[str]] = {"--train_file": [], "--validation_file": []}
    for file in text_files(Path(data)):
        options["--validation_file" if file.name.startswith("val") else "--train_file"].append(str(file))
    if not options["--train_file"]:
        raise DataError(f"--data_dir {data}: no text file (.txt) to train on")
    return [word for name, files in options.items() if files for word in (name, *files)]
