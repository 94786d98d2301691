# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Arguments that change when a run goes on: they take effect, or are refused, and the record tells until when."""

# ruff: noqa: F401, F811
import json
import shutil
import signal
from pathlib import Path

import pytest
import torch
from processes import at_call, send
from safetensors.torch import load_file
from test_faults import content
from test_resume import data, run
from transformers import Trainer

COMMON = "--max_steps 4 --logging_steps 1 --eval_strategy no --save_strategy no --warmup_steps 2"
RESUME = f"{COMMON} --resume_from_checkpoint last"
STOP = at_call(Trainer, "training_step", 4, send(signal.SIGTERM))  # the second micro-batch of step 2


@pytest.fixture(scope="module")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 4 steps that was stopped after 2."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    ended = run("best", data, folder, STOP, extra=COMMON)
    assert ended.status == 143, ended.text
    return folder


def rates(folder: Path) -> list[float]:
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return [entry["learning_rate"] for entry in history if "learning_rate" in entry]


def test_the_schedule_goes_on_with_another_peak(data: Path, stopped: Path, tmp_path: Path) -> None:
    ended = run("best", data, tmp_path / "whole", extra=f"{COMMON} --learning_rate 0.003")
    assert ended.status == 0, ended.text
    shutil.copytree(stopped, tmp_path / "run")
    ended = run("best", data, tmp_path / "run", extra=f"{RESUME} --learning_rate 0.003")
    assert ended.status == 0, ended.text
    assert "before: learning_rate 0.01 to step 2" in ended.text
    assert rates(tmp_path / "run")[2:] == rates(tmp_path / "whole")[2:]
    assert "rate 0.01 to step 2" in (tmp_path / "run" / "README.md").read_text()


@pytest.mark.parametrize(
    "name", ["best", *(pytest.param(each, marks=pytest.mark.slow) for each in ("packed", "translation"))]
)
def test_a_rate_of_almost_zero_leaves_the_weights_as_they_were(name: str, data: Path, tmp_path: Path) -> None:
    ended = run(name, data, tmp_path, STOP, extra=f"{COMMON} --average_checkpoints 1" if name[0] == "t" else COMMON)
    assert ended.status == 143, ended.text
    before = load_file(tmp_path / "checkpoint-2" / "model.safetensors")
    ended = run(name, data, tmp_path, extra=f"{RESUME} --learning_rate 1e-30 --lr_scheduler_type constant")
    assert ended.status == 0, ended.text
    after = load_file(tmp_path / "model.safetensors")
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_other_arguments_of_the_optimizer_take_effect(data: Path, stopped: Path, tmp_path: Path) -> None:
    weights = set()
    for number, options in enumerate(("", "--weight_decay 5", "--adam_beta1 0.1", "--adam_epsilon 1")):
        folder = shutil.copytree(stopped, tmp_path / str(number))
        ended = run("best", data, folder, extra=f"{RESUME} {options}")
        assert ended.status == 0, ended.text
        weights.add((folder / "model.safetensors").read_bytes())
    assert len(weights) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--optim sgd", "--optim was 'adamw_torch_fused' and is 'sgd'"),
        ("--lr_scheduler_type reduce_lr_on_plateau --eval_strategy steps --eval_steps 2", "--lr_scheduler_type was"),
    ],
)
def test_a_state_that_cannot_follow_is_refused(
    options: str, said: str, data: Path, stopped: Path, tmp_path: Path
) -> None:
    before = content(stopped)
    ended = run("best", data, stopped, extra=f"{RESUME} {options}")
    assert (ended.status, content(stopped)) == (2, before), ended.text
    assert said in ended.text


@pytest.mark.slow
def test_another_number_of_threads_is_told(data: Path, stopped: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(stopped, tmp_path / "run")
    ended = run("best", data, folder, lambda: torch.set_num_threads(2), extra=RESUME)
    assert ended.status == 0, ended.text
    assert "other hardware: the weights may not be bit for bit" in ended.text
    assert "1 thread to step 2" in (folder / "README.md").read_text()


def test_another_version_of_a_library_is_told(data: Path, stopped: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(stopped, tmp_path / "run")
    record = json.loads((folder / "run_config.json").read_text())
    record["environment"]["torch"] = "1.0"
    (folder / "run_config.json").write_text(json.dumps(record))
    ended = run("best", data, folder, extra=RESUME)
    assert ended.status == 0, ended.text
    assert "before: torch 1.0 to step 2" in ended.text
    assert "other torch: the weights may not be bit for bit" in ended.text
