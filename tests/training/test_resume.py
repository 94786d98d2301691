# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Runs that are stopped, killed at the worst moments, and resumed: to the weights of the run that nobody touched.

With dropout, gradient accumulation, batches of similar length, a moving average, a choice of the best checkpoint and
packed text; by real signals to real processes.
"""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import at_call, send
from small_runs import RUNS, Made, content, data, finish, made, run, saved
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
        ("--train_sampling_strategy group_by_length", "--train_sampling_strategy was 'random'"),
    ],
)
def test_what_cannot_go_on_is_refused_before_it_is_recorded(options: str, said: str, data: Path, stopped: Path) -> None:
    before = content(stopped)
    ended = run("packed", data, stopped, extra=f"{RESUME} {options}")
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
