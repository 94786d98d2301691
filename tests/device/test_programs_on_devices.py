# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A program on a stand-in of an accelerator: Trainer finds the device, and what is saved answers on the CPU."""

import csv
from pathlib import Path

import pytest
import torch
import train_classifier
from own_process import in_own_process
from safetensors.torch import load_file
from stand_in_device import stand_in


@pytest.mark.slow
@in_own_process
def test_a_classifier_is_trained_on_mps_with_checkpoints(tmp_path: Path) -> None:
    words = {"pos": ("good", "fine", "nice"), "neg": ("bad", "dull", "poor")}
    rows = [(f"the film is {words[label][n % 3]} {n % 10}", label) for n in range(120) for label in words]
    with (tmp_path / "train.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    run = tmp_path / "run"
    options = "--max_steps 6 --eval_strategy no --report_to none --disable_tqdm True --logging_steps 3 --save_steps 3"
    with stand_in("mps"):
        train_classifier.main(["--train_file", str(tmp_path / "train.csv"), "--output_dir", str(run), *options.split()])
    assert (run / "checkpoint-6" / "model.safetensors").is_file()
    assert "MPS" in (run / "run_config.json").read_text(encoding="utf-8")
    assert all(torch.isfinite(weight).all() for weight in load_file(run / "model.safetensors").values())
