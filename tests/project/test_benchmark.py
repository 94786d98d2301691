# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The benchmark compares equal functions on equal texts, and counts what it says; how fast they are is not tested."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import benchmark
import figures
import pytest
import torch
from processes import refusal
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from modeling_scratch.benchmark.data import grouped_by_length, in_random_order, padded, padding_tokenizer
from modeling_scratch.benchmark.models import (
    CLASSIFIER,
    DECODER,
    TRANSLATOR,
    check_logits,
    make_pair,
    make_peer,
    training_step,
)
from modeling_scratch.benchmark.settings import Settings
from modeling_scratch.benchmark.timing import training_operations
from modeling_scratch.benchmark.workloads import WORKLOADS
from modeling_scratch.utils.errors import DataError

QUICK = Settings(rounds=2, quick=True)
HISTORY = Path(__file__).parents[2] / "docs" / "measurements" / "history.jsonl"


class Operations(TorchDispatchMode):
    """As FlopCounterMode counts them, which watches modules too, so that none of them takes a shorter way."""

    total = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function._overloadpacket in flop_registry:
            self.total += flop_registry[function._overloadpacket](*args, **(kwargs or {}), out_val=result)
        return result


@pytest.fixture
def one_thread() -> Iterator[None]:
    yield
    torch.set_num_threads(1)


FAST = ["infer-sst2", "translate-marian"]  # the documentation runs one that trains


@pytest.mark.parametrize("names", [FAST, pytest.param(["all"], marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.usefixtures("one_thread")
def test_workloads_run_and_say_what_they_measured(
    names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    json_file = tmp_path / "rows.json"
    benchmark.main([*names, "--quick", "--threads", "1", "--json", str(json_file)])
    line = json_file.read_text(encoding="utf-8")
    rows = json.loads(line)["rows"]
    assert {row["workload"] for row in rows} == set(WORKLOADS if names == ["all"] else names)
    assert all(row["ratio"] > 0 for row in rows)
    printed = capsys.readouterr().out
    assert "a smoke test" in printed
    assert sum(line.startswith("| ") for line in printed.splitlines()) == len(rows) + 2
    history = tmp_path / "history.jsonl"  # of which the program has written the last line
    history.write_text(f"{HISTORY.read_text(encoding='utf-8')}{line}", encoding="utf-8")
    figures.main(["speed-history", "--history", str(history), "--output_dir", str(tmp_path)])
    drawn = (tmp_path / "speed-history.svg").read_text(encoding="utf-8")
    assert ">train-imdb: batch 16, imdb, both in random order<" in drawn
    assert rows[0]["workload"] in drawn


@pytest.mark.parametrize("line", [None, "", "{", "[]", '{"rows": []}', "\udc89"])
def test_a_history_that_is_none_is_refused(line: str | None, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Also one with a damaged line after sound ones, which is named."""
    path, sound = tmp_path / "history.jsonl", HISTORY.read_text(encoding="utf-8") if line else ""
    if line is not None:
        path.write_text(f"{sound}{line}", encoding="utf-8", errors="surrogateescape")
    told = f"{path}, line {sound.count(chr(10)) + 1}: no line of" if line else f"{path}: not found, or without a line"
    arguments = ["speed-history", "--history", str(path), "--output_dir", str(tmp_path)]
    assert f"--history {told}" in refusal(capsys, figures.main, arguments)


@pytest.mark.parametrize("kind", [CLASSIFIER, DECODER, TRANSLATOR], ids=["bert", "gpt2", "marian"])
def test_models_of_another_function_are_not_compared(kind: object) -> None:
    ours, peer = make_pair(kind, QUICK)
    ids = torch.arange(5, 25).view(2, 10)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if ours.config.is_encoder_decoder:
        batch["decoder_input_ids"] = ids
    assert "logits differ by at most" in check_logits(ours, peer, batch, batch, QUICK)
    with torch.no_grad():  # a norm in the last block, which any test of the usual initialisation would miss
        [parameter for name, parameter in ours.named_parameters() if "norm" in name][-1].add_(0.01)
    with pytest.raises(DataError, match="not timed"):
        check_logits(ours, peer, batch, batch, QUICK)


def test_random_batches_hold_each_text_once_and_grouped_ones_have_less_padding() -> None:
    rows = [[number] * (1 + number * 7 % 40) for number in range(400)]
    random, grouped = (draw(rows, 8, 5, 10) for draw in (in_random_order, grouped_by_length))
    assert sorted(ids for batches in random for batch in batches for ids in batch) == sorted(rows)
    waste = []
    for rounds in (random, grouped):
        sizes = [(8 * max(map(len, batch)), sum(map(len, batch))) for batches in rounds for batch in batches]
        waste.append(1 - sum(real for _, real in sizes) / sum(slots for slots, _ in sizes))
    assert waste[1] < 0.1 < waste[0]


def test_operations_are_counted_as_a_profiler_counts_them() -> None:
    lengths = [11] * 6  # nothing is padded
    peer = make_peer(CLASSIFIER, QUICK)
    peer.set_attn_implementation("eager")  # of whose products the profiler knows
    with Operations() as counter:
        training_step(peer, QUICK)(padded(padding_tokenizer(), [list(range(5, 5 + length)) for length in lengths]))
    width, labels = QUICK.shape.width, 2
    head = 3 * 2 * len(lengths) * width * (width + labels)
    assert counter.total == pytest.approx(training_operations(QUICK.shape, lengths) + head, rel=0.01)


def test_what_is_wrong_with_the_arguments_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("of the user")
    for arguments, message in (
        (["train-mnist"], "invalid choice: 'train-mnist'"),
        (["mlm"], "--workload mlm is retired: train-sst2 and train-imdb measure training"),
        (["train-marian"], "--workload train-marian is retired: train-sst2 and"),
        (["train-sst2", "--history", "x"], "--history is retired: append the line of --json"),
        (["train-sst2", "--rounds", "0"], "--rounds 0: must be at least 1"),
        (["train-sst2", "--quick", "--data_folder", str(tmp_path)], "sst2/train.parquet not found"),
        (["train-sst2", "--threads", "100000"], "--threads 100000: must be from 1 to "),
        (["train-sst2", "--device", "junk"], "--device junk: "),
        (["train-sst2", "--json", str(tmp_path / "file")], "file exists; choose another name or give --overwrite"),
    ):
        assert message in refusal(capsys, benchmark.main, arguments)
    assert (tmp_path / "file").read_text() == "of the user"
