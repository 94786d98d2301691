# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The history of the benchmark: a line is written once, read again, and drawn."""

from pathlib import Path

import benchmark
import figures
import pytest
from processes import refusal

from modeling_scratch.benchmark.history import append, read_history
from modeling_scratch.utils.errors import DataError

TRACKED = Path(__file__).parents[2] / "docs" / "measurements" / "history.jsonl"
FIRST = {"version": "1.0.0", "date": "2026-01-02", "processor": "a processor", "threads": 2}
ROWS = [
    {"workload": "mlm", "setting": "$rows", "ours": 5667.4, "peer": 1811.2, "ratio": 3.128,
     "ratio_range": [3.111, 3.131], "seconds": {"ours": [1.0]}},
    {"workload": "infer", "setting": "pipeline", "ours": 3.6, "peer": 4, "ratio": 0.94,
     "ratio_range": [0.9, 0.95]},
]  # fmt: skip


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert read_history(path) == []
    append(path, FIRST, ROWS)
    before = path.read_text(encoding="utf-8")
    append(path, {**FIRST, "version": "1.1.0"}, ROWS[:1])
    assert path.read_text(encoding="utf-8").startswith(before)
    assert list(tmp_path.iterdir()) == [path]
    first, second = read_history(path)
    assert {key: first[key] for key in FIRST} == FIRST
    row = {"workload": "mlm", "setting": "$rows", "ours": 5667, "peer": 1811, "ratio": 3.13}
    assert first["rows"][0] == {**row, "ratio_range": [3.11, 3.13]}
    assert (first["rows"][1]["ours"], len(second["rows"])) == (4, 1)


@pytest.mark.parametrize("line", ["{", "[]", '{"rows": []}'])
def test_a_damaged_line_is_named_and_kept(line: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append(path, FIRST, ROWS)
    damaged = path.read_text(encoding="utf-8") + line
    path.write_text(damaged, encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: damaged"):
        append(path, {**FIRST, "version": "1.1.0"}, ROWS)
    assert path.read_text(encoding="utf-8") == damaged


def test_the_benchmark_adds_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.jsonl"
    arguments = ["train-sst2", "--batch_size", "2", "--rounds", "1", "--history", str(path)]
    benchmark.main(arguments)
    (entry,) = read_history(path)
    assert {"version", "date", "processor"} <= set(entry)
    assert {"torch", "transformers", "rounds"} <= set(entry["conditions"])
    assert [row["workload"] for row in entry["rows"]] == ["train-sst2"] * 3
    assert "--quick exclude each other" in refusal(capsys, benchmark.main, [*arguments, "--quick"])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


def test_the_tracked_history_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--output_dir", str(tmp_path)]
    figures.main(["speed-history", "--history", str(TRACKED), *folder])
    assert ">train-imdb: batch 16, imdb, both in random order<" in (tmp_path / "speed-history.svg").read_text("utf-8")
    capsys.readouterr()
    for given in [], ["--history", str(tmp_path / "none")]:
        assert "--history" in refusal(capsys, figures.main, ["speed-history", *folder, *given])
