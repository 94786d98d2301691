# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A training prints a line for each entry of its log, with and without a progress bar."""

import re
from pathlib import Path

import pytest
import train_classifier

SIZES = "hidden_size=16,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2"
OPTIONS = f"--config_overrides {SIZES} --max_steps 2 --per_device_train_batch_size 64 --ema_decay 0.9"
OPTIONS += " --logging_steps 1 --report_to none --use_cpu"
VALUES = r"loss [\d.]+, gradient norm [\d.]+, rate [\d.e-]+"
COUNTS = "--include_num_input_tokens_seen True"  # with which Trainer logs times, too


@pytest.mark.parametrize(("has_bar", "counts"), [(False, COUNTS), (True, "")], ids=["lines", "bar"])
def test_a_log_entry_is_a_line(has_bar: bool, counts: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rows = [f"a {word} film {i},{word}" for i in range(30) for word in ("great", "dull")]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *rows]))
    bar = f"--disable_tqdm {not has_bar}"
    run = f"--train_file {tmp_path / 'train.csv'} --output_dir {tmp_path / 'run'} {OPTIONS} {bar} {counts}"
    train_classifier.main(run.split())
    printed = capsys.readouterr()
    lines = [line for line in printed.out.splitlines() if line.startswith("step ")]
    of_steps = [
        line for line in lines if re.match(rf"step [12] of 2 \(epoch \d\.\d\d\): {VALUES}(, num input tokens|$)", line)
    ]
    assert len(of_steps) == 2
    evaluated = r": validation loss [\d.]+, accuracy [\d.]+, f1 [\d.]+"
    assert sum(bool(re.search(evaluated, line)) for line in lines) == 2
    assert re.search(f"^the saved weights{evaluated}", printed.out, re.MULTILINE)
    assert "{'" not in printed.out + printed.err
    assert "runtime" not in printed.out
    assert ("%|" in printed.err) == has_bar
