# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""--overwrite keeps the earlier run until the new one has saved its model, whatever happens in between."""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import shutil
import signal
from pathlib import Path

import pytest
from processes import at_call, send
from small_runs import Made, content, data, finish, made, run, saved
from test_resume import KILL
from transformers import Trainer

from modeling_scratch.run import train as choreography
from modeling_scratch.run.layout import refusal

SHORT = "--max_steps 2 --save_strategy no"
OVERWRITE = f"{SHORT} --overwrite"
REFUSED = """
ema_decay 2
learning_rate nan
label_smoothing_factor 2
adam_beta1 1.5
optim_args momentum --optim sgd
lr_scheduler_type cosine_with_min_lr
push_to_hub True
report_to nothing
""".strip().splitlines()


def test_arguments_that_do_not_permit_training_leave_the_run_as_it_was(data: Path, saved: Path) -> None:
    before = content(saved)
    for setting in REFUSED:
        ended = run("steps", data, saved, extra=f"{OVERWRITE} --{setting}")
        assert (ended.status, "Traceback" in ended.text) == (2, False), (setting, ended.text)
        assert ": error: " in ended.text.strip().splitlines()[-1], setting
        assert content(saved) == before, setting


def test_a_run_that_is_stopped_keeps_the_earlier_one_beside_it(data: Path, saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "run")
    stop = at_call(Trainer, "training_step", 5, send(signal.SIGTERM))
    ended = run("steps", data, folder, stop, extra="--overwrite --save_steps 1")
    assert ended.status == 143, ended.text
    assert "the earlier run is in _replaced-1" in ended.text
    assert content(folder / "_replaced-1") == content(saved)
    assert "an unfinished run (the earlier run is in _replaced-1); continue it" in str(refusal(folder, False))
    finish("steps", data, folder, extra="--resume_from_checkpoint last --max_steps 4")
    assert not (folder / "_replaced-1").exists()


def test_files_of_others_stay(data: Path, saved: Path, tmp_path: Path) -> None:
    """Also in folders with the names of runs that were set aside, and where the record of the run is damaged."""
    folder = shutil.copytree(saved, tmp_path / "run")
    (folder / "run_config.json").write_bytes(b"{")
    own = (
        "thesis.txt",
        "analysis.py",
        "notes/day.md",
        ".gitignore",
        "predictions.csv",
        "_replaced-1/a.tex",
        "_replaced-2",
        "linear/notes.txt",
    )
    for name in own:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    finish("steps", data, folder, extra=f"{OVERWRITE} --seed 7")
    assert [(folder / name).read_text() for name in own] == [*own]
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
