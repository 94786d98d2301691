# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The benchmark compares equal functions on equal batches, and counts what it says; how fast they are is not tested."""

import json
from pathlib import Path

import benchmark
import pytest
import torch
from benchmark_models import TextBatches, check_equal, linear_shapes, pair, step_flops
from benchmark_models import bert as bert_config
from benchmark_timing import Comparison, measure
from benchmark_workloads import WORKLOADS
from transformers import BertForSequenceClassification

TEXTS = ["one", "one two", "one two three four five six", "a b c d"] * 16


SOME = ["train-sst2", "mlm", "generate-gpt2"]


@pytest.mark.parametrize("names", [SOME, pytest.param([*WORKLOADS, "load", "memory"], marks=pytest.mark.slow)])
def test_workloads_run_and_say_what_they_measured(
    names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark.main([*names, "--quick", "--threads", "1", "--json", str(tmp_path / "rows.json"),
                    "--plot", str(tmp_path / "rows.png")])  # fmt: skip
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["workload"] for row in rows} == set(names)
    assert all(row["ratio"] > 0 for row in rows)
    assert len([row for row in rows if row["workload"] == "train-sst2"]) == 2
    assert (tmp_path / "rows.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("\n") == len(rows) + 2


def test_an_unknown_workload_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        benchmark.main(["train-mnist"])
    assert "there is no workload train-mnist" in capsys.readouterr().err


def test_models_of_another_function_are_not_compared() -> None:
    peer, ours = pair(BertForSequenceClassification, bert_config(100, 64, 1))
    batch = TextBatches(TEXTS, 16, 4, 100).draw(1, grouped=False)[0]
    check_equal(peer, ours, batch)
    torch.nn.init.normal_(ours.model.stack.layers[0].feed_forward.up_proj.weight)
    with pytest.raises(AssertionError):
        check_equal(peer, ours, batch)


def test_grouped_batches_hold_the_same_texts_with_less_padding() -> None:
    batches = TextBatches(TEXTS, 16, 4, 100)
    random, grouped = (batches.draw(16, grouped=choice) for choice in (False, True))
    real = [sum(int(batch["attention_mask"].sum()) for batch in drawn) for drawn in (random, grouped)]
    padded = [sum(batch["attention_mask"].numel() for batch in drawn) for drawn in (random, grouped)]
    assert real[0] == real[1]
    assert padded[1] < padded[0]


def test_rounds_are_done_by_both_sides_and_the_median_of_ratios_is_reported() -> None:
    done: list[tuple[str, int]] = []
    jobs = (lambda number: done.append(("peer", number))), (lambda number: done.append(("ours", number)))
    row = measure(Comparison("nothing", "at all", *jobs, tokens=[1, 1, 1]))
    assert sorted(done[2:]) == sorted((side, number) for side in ("peer", "ours") for number in range(3))
    assert [side for side, _ in done[2:]] == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert row["ratio"] > 0


def test_operations_are_counted_as_a_profiler_counts_them() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    width, layers = 64, 2
    config = bert_config(100, width, layers)
    _, ours = pair(BertForSequenceClassification, config)
    batch = TextBatches(["a b c d e f g h i j"] * 8, 12, 8, 100).draw(1, grouped=False)[0]
    ours.config._attn_implementation = "eager"
    with FlopCounterMode(display=False) as counter:
        ours.train()(**batch).loss.backward()
    expected = next(iter(step_flops([batch], width, layers, spared=True)))
    assert counter.get_total_flops() == pytest.approx(expected, rel=0.05)
    assert len(linear_shapes(width, layers)) == 6 * layers
