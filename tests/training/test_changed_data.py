# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A run that goes on reads the rows that it was started with, in their order, or is refused."""

# ruff: noqa: F401, F811
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from test_faults import content
from test_resume import data, run, run_once

START = "--max_steps 1 --save_strategy steps --save_steps 1"
RESUME = "--max_steps 2 --save_strategy no --resume_from_checkpoint last"


@pytest.fixture(scope="module")
def started(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of each run, after its first step."""
    return partial(run_once, data, tmp_path_factory.mktemp("started"), START)


def append(lines: list[str]) -> list[str]:
    return [*lines, lines[-1].replace("a", "o")]


def swap(lines: list[str]) -> list[str]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def flip(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:-1] + str(1 - int(lines[-1][-1]))]


@pytest.mark.parametrize(
    ("name", "file", "change", "split"),
    [
        ("steps", "reviews/train.csv", append, "train"),
        ("steps", "reviews/train.csv", swap, "train"),
        ("steps", "reviews/test.csv", flip, "test"),
        ("translation", "pairs/validation.en", swap, "validation"),
        ("packed", "many.csv", append, "train"),
        ("streamed", "many.csv", swap, "train"),
    ],
)
def test_other_rows_than_those_of_the_start_are_refused(
    name: str, file: str, change: Callable, split: str, data: Path, started: Callable, tmp_path: Path
) -> None:
    """Also in a folder of the same name elsewhere, where the arguments agree with those of the record."""
    folder, other = started(name), shutil.copytree(data, tmp_path / "data")
    before = content(folder)
    path = other / file
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    ended = run(name, other, folder, extra=RESUME)
    assert ended.status == 2, ended.text
    assert f"the rows of {split}" in ended.text
    assert content(folder) == before


def test_a_copy_of_the_rows_elsewhere_is_accepted(data: Path, started: Callable, tmp_path: Path) -> None:
    folder = shutil.copytree(started("steps"), tmp_path / "run")
    ended = run("steps", shutil.copytree(data, tmp_path / "data"), folder, extra=RESUME)
    assert ended.status == 0, ended.text
    assert "whether they have changed" not in ended.text


def test_a_run_of_an_earlier_version_goes_on_with_a_word(data: Path, started: Callable, tmp_path: Path) -> None:
    folder = shutil.copytree(started("steps"), tmp_path / "run")
    record = json.loads((folder / "run_config.json").read_text())
    (folder / "run_config.json").write_text(json.dumps({key: record[key] for key in record if key != "data_digests"}))
    ended = run("steps", data, folder, extra=RESUME)
    assert ended.status == 0, ended.text
    assert "whether they have changed is not known" in ended.text
