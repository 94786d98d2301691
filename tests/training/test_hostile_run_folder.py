# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run folders with damaged records, with links, with files of others, and with names that mean something elsewhere."""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import json
import os
import shutil
from pathlib import Path

import pytest
from processes import refusal
from small_runs import RUNS, content, data, finish, made, run, saved

from modeling_scratch.utils.files import remove

RESUME = "--max_steps 7 --save_strategy no --resume_from_checkpoint last"
DAMAGED = "run_config.json is damaged: restore it"


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved, tmp_path / "run")


def refused(capsys: pytest.CaptureFixture, data: Path, folder: Path, extra: str) -> str:
    main, options = RUNS["steps"]
    return refusal(capsys, main, f"--output_dir {folder} {options.format(data=data)} {extra}".split())


DAMAGES = (
    *(b"", b"{}", b"[]", b'{"program": "scripts/tr', b"\xff\xfe\x00", b"[" * 100_000),
    b'{"program": "scripts/train_classifier.py", "training": {}, "model": {}}',
    b'{"program": "scripts/train_classifier.py", "training": {}, "model": {}, "data": []}',
)


def test_a_damaged_record_is_refused_and_so_is_none(data: Path, copied: Path, capsys: pytest.CaptureFixture) -> None:
    record = copied / "run_config.json"
    written = json.loads(record.read_text())
    parts = {"model": [1], "data_digests": "x", "environment": 5, "training_before_it_was_resumed": None}
    for damage in (*DAMAGES, *(json.dumps(written | {part: value}).encode() for part, value in parts.items())):
        record.write_bytes(damage)
        before = content(copied)
        assert DAMAGED in refused(capsys, data, copied, RESUME), damage
        assert content(copied) == before
    record.unlink()
    assert f"{record} is missing; restore it from a copy" in refused(capsys, data, copied, RESUME)


@pytest.mark.parametrize("extra", ["", "--overwrite", RESUME])
def test_what_stands_in_the_place_of_a_lock_or_an_earlier_run_is_kept(
    extra: str, data: Path, saved: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Of whatever version filelock is: some empty the file of the lock, and a hard link is the same file."""
    thesis, mine = tmp_path / "thesis.tex", shutil.copytree(saved, tmp_path / "mine")
    thesis.write_text("my thesis")
    lock, aside = copied / "_lock", copied / "_replaced-1"
    for place, make, told in (
        (lock, lambda: lock.symlink_to(thesis), "_lock: not an empty file"),
        (lock, lambda: os.link(thesis, lock), "_lock: not an empty file"),
        (lock, lock.mkdir, "_lock: not an empty file"),
        (aside, lambda: aside.symlink_to(mine), "_replaced-1: a link"),
    ):
        make()
        before = content(copied)
        assert told in refused(capsys, data, copied, extra)
        assert (content(copied), content(mine), thesis.read_text()) == (before, content(saved), "my thesis")
        remove(place)


@pytest.mark.parametrize("name", ["all_results.json", "trainer_state.json", ".unfinished"])
def test_a_resumed_run_does_not_write_through_links(
    name: str, data: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "mine").write_text("my thesis")
    (copied / name).unlink(missing_ok=True)
    (copied / name).symlink_to(tmp_path / "mine")
    assert f"{copied / name}: a link" in refused(capsys, data, copied, RESUME)
    assert (tmp_path / "mine").read_text() == "my thesis"


def test_what_has_the_name_of_a_checkpoint_is_kept(data: Path, copied: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (copied / "checkpoint-7").symlink_to(tmp_path / "mine")
    finish("steps", data, copied, extra="--max_steps 7 --save_steps 1 --resume_from_checkpoint last")
    assert not list((tmp_path / "mine").iterdir())
