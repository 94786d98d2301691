# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""--overwrite keeps the earlier run until the new one has saved its model, whatever happens in between."""

# ruff: noqa: F401, F811
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

import pytest
import train_tokenizer
from processes import at_call, in_child, send
from test_faults import content
from test_resume import KILL, data, run, run_once
from transformers import Trainer

from modeling_scratch.training import run as run_room

SHORT = "--max_steps 2 --save_strategy no"
OVERWRITE = f"{SHORT} --overwrite"


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of each finished run."""
    return partial(run_once, data, tmp_path_factory.mktemp("finished"), SHORT)


REFUSED = """
ema_decay 2
learning_rate -1
learning_rate nan
weight_decay -1
max_grad_norm nan
warmup_steps nan
per_device_train_batch_size 0
per_device_eval_batch_size 0
gradient_accumulation_steps 0
dataloader_num_workers -1
dataloader_persistent_workers True
adam_beta1 1.5
adam_epsilon -1
seed -1
label_smoothing_factor 2
neftune_noise_alpha -1
optim adamw_anyprecision
optim_args momentum --optim sgd
lr_scheduler_type cosine_with_min_lr
lr_scheduler_type warmup_stable_decay
push_to_hub True
save_strategy best
metric_for_best_model nothing --eval_strategy steps --save_strategy steps --eval_steps 1
fsdp full_shard
torch_compile_backend nothing
accelerator_config {"nothing":1}
""".strip().splitlines()


def test_arguments_that_do_not_permit_training_leave_the_run_as_it_was(data: Path, finished: Callable) -> None:
    folder = finished("steps")
    before = content(folder)
    for setting in REFUSED:
        ended = run("steps", data, folder, extra=f"{OVERWRITE} --{setting}")
        assert (ended.status, "Traceback" in ended.text) == (2, False), (setting, ended.text)
        assert ": error: " in ended.text.strip().splitlines()[-1], setting
        assert content(folder) == before, setting


@pytest.mark.parametrize("name", ["packed", pytest.param("translation", marks=pytest.mark.slow)])
def test_every_program_checks_its_arguments_first(name: str, data: Path, finished: Callable) -> None:
    folder = finished(name)
    before = content(folder)
    for setting in "adam_beta1 1.5", "lr_scheduler_type cosine_with_min_lr":
        ended = run(name, data, folder, extra=f"{OVERWRITE} --{setting}")
        assert (ended.status, "Traceback" in ended.text) == (2, False), ended.text
        assert content(folder) == before


def test_arguments_are_checked_before_a_resumed_run_is_recorded(data: Path, tmp_path: Path) -> None:
    ended = run("steps", data, tmp_path / "run", extra="--max_steps 2 --save_steps 1")
    assert ended.status == 0, ended.text
    before = content(tmp_path / "run")
    ended = run("steps", data, tmp_path / "run", extra="--resume_from_checkpoint last --adam_beta1 1.5")
    assert ended.status == 2, ended.text
    assert content(tmp_path / "run") == before


def test_a_run_that_diverges_before_its_first_checkpoint_puts_the_earlier_one_back(
    data: Path, finished: Callable
) -> None:
    folder = finished("steps")
    before = content(folder)
    ended = run("steps", data, folder, extra=f"{OVERWRITE} --learning_rate 1e38 --max_steps 6")
    assert ended.status == 2, ended.text
    assert "the earlier run was put back" in ended.text
    assert content(folder) == before


@pytest.mark.parametrize(("owner", "name", "number"), [(Path, "rename", 3), (run_room, "write_run", 1)])
def test_a_run_that_is_stopped_before_it_trains_puts_the_earlier_one_back(
    owner: object, name: str, number: int, data: Path, finished: Callable
) -> None:
    folder = finished("steps")
    before = content(folder)
    ended = run("steps", data, folder, at_call(owner, name, number, send(signal.SIGTERM)), extra=OVERWRITE)
    assert ended.status == 143, ended.text
    assert content(folder) == before


def test_a_tokenizer_that_finds_no_room_is_told_in_one_line(data: Path, tmp_path: Path) -> None:
    limits = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), setrlimit(RLIMIT_FSIZE, (500, 500)))  # noqa: E731
    options = f"--train_file {data / 'many.csv'} --vocab_size 300 --output_dir {tmp_path / 'new'}".split()
    ended = in_child(limits, lambda: train_tokenizer.main(options))
    assert ended.status == 2, ended.text
    assert "cannot be written: File too large" in ended.text


def test_a_run_that_has_a_checkpoint_keeps_it_beside_the_earlier_one(
    data: Path, finished: Callable, tmp_path: Path
) -> None:
    folder = shutil.copytree(finished("steps"), tmp_path / "run")
    before = {path.relative_to(folder): text for path, text in content(folder).items()}
    stop = at_call(Trainer, "training_step", 5, send(signal.SIGTERM))
    ended = run("steps", data, folder, stop, extra="--overwrite --save_steps 1")
    assert ended.status == 143, ended.text
    assert "the earlier run is in _replaced-1" in ended.text
    aside = folder / "_replaced-1"
    assert {path.relative_to(aside): text for path, text in content(aside).items()} == before
    ended = run("steps", data, folder)
    assert "an unfinished run (the earlier run is in _replaced-1); continue it" in ended.text
    ended = run("steps", data, folder, extra="--resume_from_checkpoint last --max_steps 4")
    assert ended.status == 0, ended.text
    assert not aside.exists()


def test_files_that_no_run_writes_stay(data: Path, finished: Callable, tmp_path: Path) -> None:
    folder = shutil.copytree(finished("steps"), tmp_path / "run")
    own = "thesis.txt", "analysis.py", "notes/day.md", ".gitignore", "predictions.csv"
    for name in own:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    weights = (folder / "model.safetensors").read_bytes()
    ended = run("steps", data, folder, extra=f"{OVERWRITE} --seed 7")
    assert ended.status == 0, ended.text
    assert [(folder / name).read_text() for name in own] == [*own]
    assert (folder / "model.safetensors").read_bytes() != weights
    assert not list(folder.glob("_replaced*"))


@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.slow), 4, "last"])
def test_a_kill_while_a_run_is_set_aside_leaves_a_folder_that_overwrite_accepts(
    number: int | str, data: Path, finished: Callable, tmp_path: Path
) -> None:
    """The files of the earlier run are all still there, in one of two places."""
    folder = shutil.copytree(finished("steps"), tmp_path / "run")
    before = {path.relative_to(folder): text for path, text in content(folder).items()}
    call = number if isinstance(number, int) else sum(1 for _ in folder.iterdir())
    ended = run("steps", data, folder, at_call(Path, "rename", call, KILL, after=True), extra=OVERWRITE)
    assert ended.status == -signal.SIGKILL, ended.text
    (folder / "_lock").unlink()
    aside = folder / "_replaced-1"
    places = {path.relative_to(aside if aside in path.parents else folder): path for path in content(folder)}
    assert {name: path.read_bytes() for name, path in places.items()} == before

    ended = run("steps", data, folder, extra=SHORT)
    assert (ended.status, "the earlier run is in" in ended.text or number != "last") == (2, True), ended.text
    ended = run("steps", data, folder, extra=OVERWRITE)
    assert ended.status == 0, ended.text
    assert not list(folder.glob("_*"))


def test_a_record_that_a_killed_process_has_not_written_in_full_is_in_nobodys_way(data: Path, tmp_path: Path) -> None:
    (tmp_path / ".run_config.json.4711").write_text('{"program": "scr')
    ended = run("steps", data, tmp_path, extra=SHORT)
    assert ended.status == 0, ended.text
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("number", [1, 2])
def test_a_tokenizer_program_that_was_killed_while_it_saved_runs_again(number: int, data: Path, tmp_path: Path) -> None:
    arguments = f"--train_file {data}/many.csv --vocab_size 300 --output_dir {tmp_path}".split()
    ended = in_child(at_call(Path, "replace", number, KILL), lambda: train_tokenizer.main(arguments))
    assert ended.status == -signal.SIGKILL, ended.text
    ended = in_child(lambda: train_tokenizer.main([*arguments, "--overwrite"]))
    assert ended.status == 0, ended.text
    assert {path.name for path in tmp_path.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}
