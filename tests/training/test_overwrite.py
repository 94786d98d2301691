# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""--overwrite keeps the earlier run until the new one has saved its model, whatever happens in between."""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from processes import at_call, refusal, send
from small_runs import RUNS, content, data, finish, made, run, saved
from test_resume import KILL
from transformers import Trainer

from modeling_scratch.run import train as choreography
from modeling_scratch.run.layout import refusal as refusal_of
from modeling_scratch.utils.files import remove

SHORT = "--max_steps 2 --save_strategy no"
OVERWRITE = f"{SHORT} --overwrite"
REFUSED = {
    "": "holds another run",
    "--overwrite --text_column nowhere": "nowhere",
    "--overwrite --tokenizer_name_or_path {saved}": "would delete",
    "--overwrite --tokenizer_name_or_path {saved}/checkpoint-2": "would delete",
    "--resume_from_checkpoint {elsewhere}": "not a checkpoint",
    "--overwrite --learning_rate nan": "--learning_rate nan",
    "--overwrite --early_stopping_patience -1": "--early_stopping_patience -1",
    "--overwrite --adam_beta1 1.5": "beta",
    "--overwrite --optim_args momentum --optim sgd": "training cannot start",
    "--overwrite --lr_scheduler_type cosine_with_min_lr": "training cannot start",
    "--overwrite --push_to_hub True": "training cannot start",
}


@pytest.mark.parametrize("options", REFUSED)
def test_arguments_that_do_not_permit_training_leave_the_run_as_it_was(
    options: str, data: Path, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    before, given = content(saved), options.format(saved=saved, elsewhere=tmp_path)
    assert REFUSED[options] in refused(capsys, data, saved, given)
    assert content(saved) == before


def test_folders_that_no_run_has_written_and_unfinished_runs_are_told(saved: Path, data: Path, tmp_path: Path) -> None:
    stopped = shutil.copytree(saved, tmp_path / "run")
    (stopped / "all_results.json").unlink()
    assert "an unfinished run; continue it with --resume_from_checkpoint last" in str(refusal_of(stopped, False))
    assert "do not belong to a run" in str(refusal_of(data / "reviews", True))


def test_a_run_that_is_stopped_keeps_the_earlier_one_beside_it(data: Path, saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "run")
    stop = at_call(Trainer, "training_step", 5, send(signal.SIGTERM))
    ended = run("steps", data, folder, stop, extra="--overwrite --save_steps 1")
    assert ended.status == 143, ended.text
    assert "the earlier run is in _replaced-1" in ended.text
    assert content(folder / "_replaced-1") == content(saved)
    assert "an unfinished run (the earlier run is in _replaced-1); continue it" in str(refusal_of(folder, False))
    finish("steps", data, folder, extra="--resume_from_checkpoint last --max_steps 4")
    assert not (folder / "_replaced-1").exists()


def test_files_of_others_stay(data: Path, saved: Path, tmp_path: Path) -> None:
    """Also in folders with the names of runs that were set aside, and where the record of the run is damaged."""
    folder = shutil.copytree(saved, tmp_path / "run")
    (folder / "run_config.json").write_bytes(b"{")
    own = (
        "thesis.txt analysis.py notes/day.md .gitignore predictions.csv _replaced-1/a.tex _replaced-2 linear/notes.txt"
    )
    for name in own.split():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    finish("steps", data, folder, extra=f"{OVERWRITE} --seed 7")
    assert [(folder / name).read_text() for name in own.split()] == own.split()
    assert (folder / "model.safetensors").read_bytes() != (saved / "model.safetensors").read_bytes()
    assert {path.name for path in folder.glob("_*")} == {"_replaced-1", "_replaced-2"}
    assert not list(folder.glob("checkpoint-*"))


@pytest.mark.parametrize("number", [*(pytest.param(number, marks=pytest.mark.slow) for number in (1, 4)), "last"])
def test_a_kill_while_a_run_is_set_aside_leaves_a_folder_that_overwrite_accepts(
    number: int | str, data: Path, saved: Path, tmp_path: Path
) -> None:
    """The files of the earlier run are all still there, in one of two places."""
    folder = shutil.copytree(saved, tmp_path / "run")
    call = number if isinstance(number, int) else sum(1 for _ in folder.iterdir())
    ended = run("steps", data, folder, at_call(Path, "replace", call, KILL, after=True), extra=OVERWRITE)
    assert ended.status == -signal.SIGKILL, ended.text
    (folder / "_lock").unlink()
    assert {name.removeprefix("_replaced-1/"): text for name, text in content(folder).items()} == content(saved)

    ended = run("steps", data, folder, at_call(choreography, "read", 1, send(signal.SIGTERM)), extra=OVERWRITE)
    assert (ended.status, "the earlier run is in _replaced-1" in ended.text) == (143, True), ended.text
    finish("steps", data, folder, extra=OVERWRITE)
    assert not list(folder.glob("_*"))


def test_a_record_that_a_killed_process_has_not_written_in_full_is_in_nobodys_way(data: Path, tmp_path: Path) -> None:
    (tmp_path / ".run_config.json.4711").write_text('{"program": "scr')
    ended = run("packed", data, tmp_path, at_call(Trainer, "training_step", 1, send(signal.SIGTERM)))
    assert ended.status == 143, ended.text
    assert not list(tmp_path.glob(".*"))


# Damaged records, links, files of others, and names that mean something elsewhere

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
