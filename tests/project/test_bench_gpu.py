# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The table of `make bench-gpu`, as far as a machine without a GPU can tell: see test_gpu.py for a run on one."""

from pathlib import Path
from typing import Any

import benchmark_gpu
import pytest
import torch
from own_process import in_own_process
from processes import refusal
from stand_in_device import stand_in

from modeling_scratch.benchmark.gpu_table import gpu_conditions, gpu_table

ROWS: list[dict[str, Any]] = [
    {"workload": "train-sst2", "setting": "batch 64", "unit": "tokens/s", "ours": 2e6, "peer": 1e6, "ratio": 2.0,
     "ratio_range": [1.9, 2.1]},
    {"workload": "memory", "setting": "a | b", "unit": "MiB", "ours": 10.0, "peer": 40.0, "ratio": 0.25,
     "ratio_range": [0.25, 0.25]},
]  # fmt: skip


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_it_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "gpu.md"
    message = refusal(capsys, benchmark_gpu.main, ["--output", str(output)])
    assert "no CUDA device: run this on a machine with an NVIDIA GPU" in message
    assert not output.exists()


def test_the_table_has_the_conditions_and_a_row_for_each_measurement() -> None:
    lines = gpu_table(ROWS, {"device": "H100", "date": "2026-01-01"}).splitlines()
    assert lines[:2] == ["- device: H100", "- date: 2026-01-01"]
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + len(ROWS)
    assert "| train-sst2 | batch 64 | 2,000,000 tokens/s | 1,000,000 tokens/s | 2.00 | 1.90–2.10 |" in rows
    assert rows[-1].count("|") == rows[0].count("|")


@in_own_process
def test_the_conditions_name_device_driver_versions_and_date() -> None:
    with stand_in("cuda"):
        conditions = gpu_conditions("bfloat16")
    assert conditions["device"] == "stand-in (compute capability 8.0)"
    assert {"driver", "CUDA of torch", "torch", "transformers", "precision", "date"} <= conditions.keys()
    assert all(conditions.values())


@in_own_process
def test_no_texts_per_step_are_refused() -> None:
    with stand_in("cuda"), pytest.raises(SystemExit, match="2"):
        benchmark_gpu.main(["train-sst2", "--quick", "--dtype", "float32", "--batch_size", "0"])


@pytest.mark.slow
@in_own_process
def test_generation_and_inference_are_measured_on_a_stand_in(tmp_path: Path) -> None:
    output = tmp_path / "gpu.md"
    with stand_in("cuda"):
        arguments = ["infer-sst2", "generate-gpt2", "--quick", "--dtype", "float32", "--output", str(output)]
        benchmark_gpu.main(arguments)
    assert "generate-gpt2" in output.read_text(encoding="utf-8")
