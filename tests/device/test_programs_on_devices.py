# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Programs on a stand-in of mps: Trainer finds the device, and the losses and weights are those of a CPU."""

import json
from pathlib import Path

import pytest
import torch
from own_process import in_own_process
from processes import in_child
from safetensors.torch import load_file
from small_runs import RUNS, WITHOUT_DROPOUT, data  # noqa: F401, a fixture
from stand_in_device import stand_in
from together import losses

PROGRAMS = "best", "packed", "translation"  # train-classifier, pretrain, train-translation
STEPS = f"--max_steps 4 --logging_steps 1 --save_strategy steps --save_steps 2 --eval_steps 2 {WITHOUT_DROPOUT}"


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@in_own_process
def test_a_program_trains_on_mps_as_on_a_cpu(program: str, data: Path, tmp_path: Path) -> None:  # noqa: F811
    main, options = RUNS[program]
    cpu, device = tmp_path / "cpu", tmp_path / "device"
    arguments = f"{options.format(data=data)} {STEPS}".split()
    ended = in_child(lambda: main(["--output_dir", str(cpu), *arguments]))
    assert ended.status == 0, ended.text
    with stand_in("mps") as counted:
        main(["--output_dir", str(device), *arguments, "--use_cpu", "False"])
    assert counted.waits  # it was used: losses are read
    assert (device / "checkpoint-4" / "model.safetensors").is_file()
    assert losses(device) == pytest.approx(losses(cpu), abs=1e-3)
    expected = load_file(cpu / "model.safetensors")
    for key, weight in load_file(device / "model.safetensors").items():
        torch.testing.assert_close(weight, expected[key], atol=1e-3, rtol=0, msg=lambda text, key=key: key + text)
    assert json.loads((device / "all_results.json").read_text())
    record = json.loads((device / "run_config.json").read_text())
    assert record["training"]["logging_nan_inf_filter"] is False  # which would wait for each loss
