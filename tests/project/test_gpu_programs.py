# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The programs on a CUDA device: the losses of the CPU, and models that answer on both."""

import json
from pathlib import Path

import pytest
import torch

pytest.importorskip("datasets", reason="the training programs need the datasets library")

import benchmark
import predict
import train_classifier
from small_runs import RUNS, WITHOUT_DROPOUT, data  # noqa: F401, a fixture
from together import losses

from modeling_scratch.data.collators import FlatBatches
from modeling_scratch.sharing.run_record import read_run

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_trains_and_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main job in bfloat16, on batches without padding; what is saved answers on the CPU, too."""
    flat: list[int] = []
    make = FlatBatches.__call__
    monkeypatch.setattr(FlatBatches, "__call__", lambda self, rows: flat.append(len(rows)) or make(self, rows))
    run = tmp_path / "run"
    train_classifier.main(f"--output_dir {run} --bf16 True --report_to none --disable_tqdm True".split())
    assert json.loads((run / "all_results.json").read_text())["eval_accuracy"] > 0.9
    assert sum(flat) == 5 * 20_000
    (tmp_path / "texts.txt").write_text("This film is gripping.\nThis film is dull.\n", encoding="utf-8")
    answers = []
    for device in ("cuda", "cpu"):
        output = tmp_path / f"{device}.jsonl"
        predict.main(f"--model {run} --device {device} --input {tmp_path / 'texts.txt'} --output {output}".split())
        answers.append([json.loads(line) for line in output.read_text().splitlines()])
    for one, other in zip(*answers, strict=True):
        assert one["label"] == other["label"]
        assert one["score"] == pytest.approx(other["score"], abs=1e-3)


@pytest.mark.parametrize("program", ["average", "best", "packed", "translation"])
def test_programs_have_the_losses_of_the_cpu(program: str, data: Path, tmp_path: Path) -> None:  # noqa: F811
    main, options = RUNS[program]
    common = "--max_steps 8 --logging_steps 1 --save_strategy steps --save_steps 4 --eval_steps 4 --tf32 False"
    arguments = f"{options.format(data=data)} {WITHOUT_DROPOUT} {common}".split()
    for device, use_cpu in (("cpu", "True"), ("cuda", "False")):
        main(["--output_dir", str(tmp_path / device), *arguments, "--use_cpu", use_cpu])
    assert losses(tmp_path / "cuda") == pytest.approx(losses(tmp_path / "cpu"), abs=1e-3)
    assert len({read_run(tmp_path / device)["hardware"] for device in ("cpu", "cuda")}) == 2


def test_the_benchmark_runs(tmp_path: Path) -> None:
    names = "train-sst2 train-imdb infer-sst2 generate-gpt2 translate-marian"
    benchmark.main(f"{names} --quick --device cuda --dtype bfloat16 --json {tmp_path / 'rows.json'}".split())
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["workload"] for row in rows} == set(names.split())
