# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Runs that are stopped, killed at the worst moments, and resumed: to the weights of the run that nobody touched.

With dropout, gradient accumulation, batches of similar length, a moving average, a choice of the best checkpoint and
packed text; by real signals to real processes.
"""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import json
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import at_call, send
from small_runs import RUNS, SIZES, Made, content, data, finish, made, run, saved
from transformers import Trainer

from modeling_scratch.run import trainer as survival
from modeling_scratch.run.checkpoints import checkpoints_in


def half_of(_: Any, path: str, *args: Any, **kwargs: Any) -> None:
    """A process killed while it writes: half of the file is there."""
    os.truncate(path, Path(path).stat().st_size // 2)
    os.kill(os.getpid(), signal.SIGKILL)


KILL, TERM, INTERRUPT = map(send, (signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
FAULTS: dict[str, tuple[Callable[[], None], int]] = {
    "killed in mid-epoch": (at_call(Trainer, "training_step", 17, KILL), -9),
    "killed while it writes a checkpoint": (at_call(torch, "save", 6, half_of, after=True), -9),
    "killed before a checkpoint is sealed": (at_call(survival, "seal", 2, KILL), -9),
    "killed while it deletes checkpoints": (at_call(survival, "rotate_checkpoints", 2, KILL), -9),
    "killed when training is over": (at_call(Trainer, "save_metrics", 1, KILL), -9),
    "killed before the model is saved": (at_call(survival, "move_all", 1, KILL), -9),
    "SIGTERM in mid-epoch": (at_call(Trainer, "training_step", 21, TERM), 143),
    "Ctrl-C in the last step of an epoch": (at_call(Trainer, "training_step", 10, INTERRUPT), 130),
    "Ctrl-C in the last step": (at_call(Trainer, "_finalize_training", 1, INTERRUPT), 130),
    "SIGTERM while it is evaluated": (at_call(Trainer, "evaluate", 2, TERM), 143),
}


QUICK = [("average", "killed in mid-epoch"), ("packed", "killed while it writes a checkpoint")]
CASES = [
    pytest.param(name, fault, marks=[] if (name, fault) in QUICK else pytest.mark.slow)
    for name, fault in product(RUNS, FAULTS)
]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_resumed_run_ends_with_the_same_weights(
    name: str, fault: str, data: Path, tmp_path: Path, made: Made
) -> None:
    patch, status = FAULTS[fault]
    output = tmp_path / "run"
    ended = run(name, data, output, patch)
    assert ended.status == status, ended.text
    finish(name, data, output, extra="--resume_from_checkpoint last")
    expected = made(name)
    assert (output / "model.safetensors").read_bytes() == (expected / "model.safetensors").read_bytes()
    assert [path.name for path in checkpoints_in(output)] == [path.name for path in checkpoints_in(expected)]
    for path in expected.glob("predictions.jsonl"):
        assert (output / path.name).read_bytes() == path.read_bytes()
    assert not list(output.glob(".*"))


def test_the_oldest_checkpoints_go_whatever_the_times_of_a_copy(saved: Path, data: Path, tmp_path: Path) -> None:
    """And what a killed process has left of one."""
    output = Path(shutil.copytree(saved, tmp_path / "run"))
    (output / "checkpoint-7").mkdir()
    for checkpoint in checkpoints_in(output):
        time = 10**9 - int(checkpoint.name.rpartition("-")[2])
        os.utime(checkpoint, (time, time))
    finish("steps", data, output, extra="--max_steps 8 --save_total_limit 3 --resume_from_checkpoint last")
    assert [path.name for path in checkpoints_in(output)] == ["checkpoint-4", "checkpoint-6", "checkpoint-8"]


# What may change when a run goes on: other rows and another optimizer are refused, and the record tells the rest

COMMON = "--max_steps 4 --logging_steps 1 --eval_strategy no --save_strategy no --warmup_steps 2"
RESUME = f"{COMMON} --resume_from_checkpoint last"
STOP = at_call(Trainer, "training_step", 4, send(signal.SIGTERM))  # the second micro-batch of step 2


@pytest.fixture(scope="module")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 4 steps that was stopped after 2."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    ended = run("packed", data, folder, STOP, extra=COMMON)
    assert ended.status == 143, ended.text
    return folder


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--optim sgd", "--optim was 'adamw_torch_fused' and is 'sgd'"),
        ("--learning_rate 0.003", "--learning_rate was 0.01 and is 0.003"),
        ("--weight_decay 5 --adam_beta1 0.1", "--weight_decay was 0.1 and is 5.0; --adam_beta1 was 0.9 and is 0.1"),
        ("--lr_scheduler_type constant", "--lr_scheduler_type was 'cosine' and is 'constant'"),
        ("--per_device_train_batch_size 24", "a step was 24 rows and is 48"),
        ("--gradient_accumulation_steps 1", "a step was 24 rows and is 12"),
        ("--seed 4", "--seed was 3 and is 4"),
        ("--block_size 32", "--block_size was 16 and is 32"),
        (
            "--train_file {data}/many.csv {data}/many.csv",
            "--train_file was ['many.csv'] and is ['many.csv', 'many.csv']",
        ),
        ("--train_sampling_strategy group_by_length", "--train_sampling_strategy was 'random'"),
    ],
)
def test_what_cannot_go_on_is_refused_before_it_is_recorded(options: str, said: str, data: Path, stopped: Path) -> None:
    before = content(stopped)
    ended = run("packed", data, stopped, extra=f"{RESUME} {options.format(data=data)}")
    assert (ended.status, content(stopped)) == (2, before), ended.text
    assert said in ended.text


def show_rows(trainer: Trainer, model: Any, inputs: dict[str, Any], *_: Any, **__: Any) -> None:
    print("rows:", inputs["input_ids"].tolist())


def test_other_micro_batches_of_the_same_rows_go_on_at_the_row(data: Path, stopped: Path, tmp_path: Path) -> None:
    """As when the memory did not suffice: 2 x 12 rows, and then 4 x 6."""
    micro, read = "--per_device_train_batch_size 6 --gradient_accumulation_steps 4", []
    for name, options in (("same", ""), ("other", micro)):
        folder = shutil.copytree(stopped, tmp_path / name)
        showing = [at_call(Trainer, "training_step", number, show_rows) for number in range(1, 9)]
        ended = finish("packed", data, folder, *showing, extra=f"{RESUME} {options}")
        read.append([row for rows in re.findall(r"^rows: (.+)$", ended.text, re.M) for row in json.loads(rows)])
    assert len(read[0]) == 24 + 16  # all that is left of the pass
    assert read[0] == read[1]


def test_other_versions_of_the_libraries_are_told(data: Path, stopped: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(stopped, tmp_path / "run")
    record = json.loads((folder / "run_config.json").read_text())
    record["environment"]["torch"] = "1.0"
    (folder / "run_config.json").write_text(json.dumps(record))
    ended = finish("packed", data, folder, extra=RESUME)
    assert "before: torch 1.0" in ended.text
    assert "other torch: the weights may not be bit for bit" in ended.text


def append(lines: list[str]) -> list[str]:
    return [*lines, lines[-1].replace("a", "o")]


def swap(lines: list[str]) -> list[str]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def flip(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:-1] + str(1 - int(lines[-1][-1]))]


@pytest.mark.parametrize(
    ("name", "file", "change", "split"),
    [
        ("steps", "reviews/train.csv", swap, "train"),
        ("steps", "reviews/test.csv", flip, "test"),
        ("packed", "many.csv", append, "train"),
    ],
)
def test_other_rows_than_those_of_the_start_are_refused(
    name: str, file: str, change: Callable, split: str, data: Path, saved: Path, stopped: Path, tmp_path: Path
) -> None:
    """Also in a folder of the same name elsewhere, where the arguments agree with those of the record."""
    folder = saved if name == "steps" else stopped
    other, before = shutil.copytree(data, tmp_path / "data"), content(folder)
    path = other / file
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    ended = run(name, other, folder, extra="--max_steps 20 --resume_from_checkpoint last")
    assert ended.status == 2, ended.text
    assert f"the rows of {split}" in ended.text
    assert content(folder) == before


# Killed at random moments, and started again

# What a killed process leaves changes with what it does to files. So a moment is one of these: a run reports each open,
# rename, removal and creation in its output folder before it happens, and dies of SIGKILL at one that is drawn.
# SCRATCH_SEED draws others.
SEED = int(os.environ.get("SCRATCH_SEED", "20261122"))
MOMENTS = 40
FIRST = f"--config_overrides {SIZES}".replace("hidden_size=16", "hidden_size=8")  # of the run that --overwrite replaces
DRAW = random.Random(SEED)
PROGRAMS = [(DRAW.choice([*RUNS]), DRAW.random() < 1 / 3, DRAW.random()) for _ in range(MOMENTS)]
MOMENTS_OF_RUNS = [
    pytest.param(name, replaces, part, id=f"{number}-{name}{'-overwrite' * replaces}")
    for number, (name, replaces, part) in enumerate(PROGRAMS)
]


def die_at(number: int, output: Path, counted: Path) -> Callable[[], None]:
    """An action: the process kills itself at its number-th file event; 0: never, it counts them."""

    def install() -> None:
        events = [0]

        def see(event: str, arguments: tuple) -> None:
            is_of_files = event == "open" or event.startswith(("os.", "shutil."))
            if is_of_files and arguments and str(arguments[0]).startswith(str(output)):
                events[0] += 1
                if events[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                if not number:
                    os.write(descriptor, b".")

        descriptor = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sys.addaudithook(see)

    return install


def weights_in(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], tuple[Path, int]]:
    """The folder of each program's run, alone or with --overwrite, and its number of file events."""
    parent = tmp_path_factory.mktemp("undisturbed")

    def of(name: str, replaces: bool) -> tuple[Path, int]:
        folder, counted = parent / f"{name}-{replaces}", parent / f"{name}-{replaces}.count"
        if not folder.exists():
            if replaces:
                finish(name, data, folder, extra=FIRST)
            finish(name, data, folder, die_at(0, folder, counted), extra="--overwrite" * replaces)
        return folder, counted.stat().st_size

    return of


@pytest.mark.slow
@pytest.mark.parametrize(("name", "replaces", "part"), MOMENTS_OF_RUNS)
def test_a_run_that_is_killed_ends_with_the_weights_of_one_that_is_not(
    name: str, replaces: bool, part: float, data: Path, tmp_path: Path, undisturbed: Callable
) -> None:
    expected, events = undisturbed(name, replaces)
    folder, moment = tmp_path / "run", 1 + int(part * events)
    print(f"seed {SEED}: {name}, file event {moment} of {events}")
    if replaces:
        finish(name, data, folder, extra=FIRST)
        before = weights_in(folder)
    ended = run(name, data, folder, die_at(moment, folder, tmp_path / "count"), extra="--overwrite" * replaces)
    assert ended.status == -signal.SIGKILL, ended.text
    if replaces:
        kept = [path for path in (folder, folder / "_replaced-1") if (path / "model.safetensors").is_file()]
        assert kept, "neither the earlier result nor the new one is there"
        assert any(weights_in(path) in (before, weights_in(expected)) for path in kept)
    for extra in ("--resume_from_checkpoint last", "", "--overwrite"):
        ended = run(name, data, folder, extra=extra)
        if ended.status == 0:
            break
        assert ended.status == 2, ended.text
    assert ended.status == 0, ended.text
    assert weights_in(folder) == weights_in(expected)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(("_replaced", ".unfinished"))]
