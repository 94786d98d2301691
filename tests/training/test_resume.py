# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Runs that are stopped, killed at the worst moments, and resumed: to the weights of the run that nobody touched.

With dropout, gradient accumulation, batches of similar length, a moving average, a choice of the best checkpoint and
streamed text; by real signals to real processes.
"""

import os
import signal
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pretrain
import pytest
import torch
import train_classifier
import train_translation
from processes import Ended, at_call, in_child, send
from test_pretrain import prose
from test_train_classifier import write_reviews
from test_train_translation import write_split
from text_samples import write
from transformers import Trainer

from modeling_scratch.training import resumable as survival
from modeling_scratch.training.checkpoints import checkpoints_in

COMMON = "--report_to none --use_cpu --disable_tqdm True --gradient_accumulation_steps 2 --seed 3 --learning_rate 1e-2"
SIZES = "hidden_size=16,intermediate_size=32,num_hidden_layers=1,num_attention_heads=2,hidden_dropout=0.2"
GROUPED = "--train_sampling_strategy group_by_length"
SMALL = f"{COMMON} --config_overrides {SIZES}"
CLASSIFIER = f"{SMALL} --per_device_train_batch_size 6 --num_train_epochs 3 --data_dir {{data}}/reviews"  # 5 steps each
CHARACTERS = f"{SMALL} --objective clm --tokenizer_kind character --block_size 16 --train_file {{data}}/many.csv"
RUNS: dict[str, tuple[Callable[[list[str]], None], str]] = {
    "average": (train_classifier.main, f"{CLASSIFIER} {GROUPED} --ema_decay 0.9"),
    "best": (train_classifier.main, f"{CLASSIFIER} --ema_decay 0"),
    "steps": (train_classifier.main, f"{CLASSIFIER} {GROUPED} --save_strategy steps --save_steps 2 --max_steps 13"),
    "streamed": (pretrain.main, f"{CHARACTERS} --streaming --max_steps 14 --per_device_train_batch_size 2"),
    "packed": (pretrain.main, f"{CHARACTERS} --num_train_epochs 2 --max_steps 14 --per_device_train_batch_size 12"),
    "translation": (
        train_translation.main,
        f"{SMALL} --data_dir {{data}}/pairs --source_column en --target_column de --tokenizer_kind wordlevel "
        "--vocab_size 60 --warmup_steps 4 --num_train_epochs 4 --per_device_train_batch_size 10 "
        "--average_checkpoints 3 --num_beams 1 --max_length 8",
    ),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name in ("reviews", "pairs"):
        (folder / name).mkdir()
    for seed, (split, rows) in enumerate({"train": 60, "validation": 20, "test": 20}.items()):
        write_reviews(folder / "reviews" / f"{split}.csv", rows, seed)
        write_split(folder / "pairs", split, rows, seed)
    write(folder / "many.csv", {"text": [f"{text} {number}" for number, text in enumerate(prose(60))]})
    return folder


def run(name: str, data: Path, output: Path, *patches: Callable[[], None], extra: str = "") -> Ended:
    """A run in a process of its own."""
    main, options = RUNS[name]
    arguments = f"--output_dir {output} {options.format(data=data)} {extra}".split()
    return in_child(*patches, lambda: main(arguments))


def run_once(data: Path, folder: Path, extra: str, name: str) -> Path:
    """The folder of a run that ends well, made at the first call."""
    if not (folder / name).exists():
        ended = run(name, data, folder / name, extra=extra)
        assert ended.status == 0, ended.text
    return folder / name


def finish(name: str, data: Path, output: Path, *patches: Callable[[], None], extra: str = "") -> Ended:
    """A run that ends well."""
    ended = run(name, data, output, *patches, extra=extra)
    assert ended.status == 0, ended.text
    return ended


@pytest.fixture(scope="module")
def untouched(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of each run that nobody touches: one for all files of tests."""

    def finished(name: str) -> Path:
        if name not in FINISHED:
            output = tmp_path_factory.mktemp("untouched") / name
            finish(name, data, output)
            FINISHED[name] = output
        return FINISHED[name]

    return finished


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
    "killed before the model is saved": (at_call(survival, "_move_all", 1, KILL), -9),
    "SIGTERM in mid-epoch": (at_call(Trainer, "training_step", 21, TERM), 143),
    "Ctrl-C in the last step of an epoch": (at_call(Trainer, "training_step", 10, INTERRUPT), 130),
    "Ctrl-C in the last step": (at_call(Trainer, "_finalize_training", 1, INTERRUPT), 130),
    "SIGTERM while it is evaluated": (at_call(Trainer, "evaluate", 2, TERM), 143),
}


QUICK = [
    ("average", "killed in mid-epoch"),
    ("best", "SIGTERM in mid-epoch"),
    ("streamed", "killed while it writes a checkpoint"),
]
CASES = [
    pytest.param(name, fault, marks=[] if (name, fault) in QUICK else pytest.mark.slow)
    for name, fault in product(RUNS, FAULTS)
]
FINISHED: dict[str, Path] = {}


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_resumed_run_ends_with_the_same_weights(
    name: str, fault: str, data: Path, tmp_path: Path, untouched: Callable[[str], Path]
) -> None:
    patch, status = FAULTS[fault]
    output = tmp_path / "run"
    ended = run(name, data, output, patch)
    assert ended.status == status, ended.text
    finish(name, data, output, extra="--resume_from_checkpoint last")
    expected = untouched(name)
    assert (output / "model.safetensors").read_bytes() == (expected / "model.safetensors").read_bytes()
    assert [path.name for path in checkpoints_in(output)] == [path.name for path in checkpoints_in(expected)]
    assert not list(output.glob(".*"))
