# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Runs that are stopped, killed at the worst moments, and resumed: to the weights of the run that nobody touched.

With dropout, gradient accumulation, batches of similar length, a moving average, a choice of the best checkpoint and
packed text; by real signals to real processes.
"""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import os
import shutil
import signal
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import at_call, send
from small_runs import RUNS, Made, data, finish, made, run, saved
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


@pytest.mark.slow
def test_a_run_with_workers_is_resumed_to_the_same_weights(data: Path, tmp_path: Path, made: Made) -> None:
    workers = "--dataloader_num_workers 1"
    patch, status = FAULTS["killed in mid-epoch"]
    assert run("average", data, tmp_path / "run", patch, extra=workers).status == status
    finish("average", data, tmp_path / "run", extra=f"{workers} --resume_from_checkpoint last")
    expected = made("average", workers)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (expected / "model.safetensors").read_bytes()


def test_the_oldest_checkpoints_go_whatever_the_times_of_a_copy(saved: Path, data: Path, tmp_path: Path) -> None:
    output = Path(shutil.copytree(saved, tmp_path / "run"))
    for checkpoint in checkpoints_in(output):
        time = 10**9 - int(checkpoint.name.rpartition("-")[2])
        os.utime(checkpoint, (time, time))
    finish("steps", data, output, extra="--max_steps 8 --save_total_limit 3 --resume_from_checkpoint last")
    assert [path.name for path in checkpoints_in(output)] == ["checkpoint-4", "checkpoint-6", "checkpoint-8"]
