# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What goes wrong while a model is trained, made to go wrong: in real processes, on disks that are really full."""

# ruff: noqa: F401, F811  (the fixtures come from small_runs)
import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import Ended, at_call, refusal, send
from safetensors.torch import load_file
from small_runs import RUNS, SAVED, Made, content, data, finish, made, run, saved
from transformers import Trainer, TrainingArguments
from transformers.trainer_callback import CallbackHandler, DefaultFlowCallback

from modeling_scratch.run.checkpoints import (
    check_checkpoint,
    checkpoint_to_resume,
    checkpoints_in,
    seal,
    set_aside,
    step_of,
)
from modeling_scratch.run.layout import CARD, MANIFEST
from modeling_scratch.run.run_folder import LOCK_FILE, locked
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import flush

Damage = Callable[[Path], object]


def flip_a_bit(checkpoint: Path) -> None:
    content = bytearray((checkpoint / "model.safetensors").read_bytes())
    content[-5] ^= 1
    (checkpoint / "model.safetensors").write_bytes(content)


def write(name: str, content: bytes) -> Damage:
    return lambda checkpoint: (checkpoint / name).write_bytes(content)


def lose(name: str) -> Damage:
    return lambda checkpoint: (checkpoint / name).unlink()


MANIFESTS = b'{"files', b"\xff{}", b"[" * 100_000, b'{"files": {"optimizer.pt": 5}}', b"[]"
DAMAGES: dict[str, tuple[Damage, str]] = {
    "stopped": (lose(MANIFEST), "stopped while writing it"),
    "lost": (lose("optimizer.pt"), "optimizer.pt is missing"),
    "cut": (write("rng_state.pth", b"PK"), "rng_state.pth has"),
    **{f"manifest {text[:9]}": (write(MANIFEST, text), f"{MANIFEST} cannot be read") for text in MANIFESTS},
    "bit": (flip_a_bit, "model.safetensors does not match its checksum"),
}


def test_a_checkpoint_is_sealed_with_all_that_is_in_it(saved: Path) -> None:
    for checkpoint in checkpoints_in(saved):
        sealed = json.loads((checkpoint / MANIFEST).read_text())["files"]
        assert set(sealed) == {path.name for path in checkpoint.iterdir()} - {MANIFEST}
        assert {"model.safetensors", "optimizer.pt", "rng_state.pth"} <= set(sealed)
        assert "training_args.bin" not in sealed


@pytest.mark.parametrize(("damage", "told"), DAMAGES.values(), ids=DAMAGES)
def test_the_checkpoint_before_a_damaged_one_is_used(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture, damage: Damage, told: str
) -> None:
    output = shutil.copytree(saved, tmp_path / "run")
    *_, before, last = checkpoints_in(output)
    damage(last)
    resumed = checkpoint_to_resume(TrainingArguments(output_dir=str(output), resume_from_checkpoint="last"))
    assert resumed == str(before)
    assert f"{last} is skipped" in (warning := capsys.readouterr().err)
    assert told in warning
    with pytest.raises(DataError, match="to resume from the last complete one"):
        checkpoint_to_resume(TrainingArguments(output_dir=str(output), resume_from_checkpoint=str(last)))


def test_a_damaged_checkpoint_with_a_seal_ends_in_one_line(
    saved: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """As when somebody has rewritten its manifest. The other checkpoints stay."""
    output, (main, options) = shutil.copytree(saved, tmp_path / "run"), RUNS["steps"]
    first, *_, last = checkpoints_in(output)
    arguments = f"--output_dir {output} {options.format(data=data)} --max_steps 7 --resume_from_checkpoint last"
    for name in ("trainer_state.json", "model.safetensors", "optimizer.pt", "rng_state.pth", "tokenizer.json"):
        before = (last / name).read_bytes()
        for damage in (b"", b"[1]", before[: len(before) // 2]):
            (last / name).write_bytes(damage)
            seal(last)
            assert str(last) in refusal(capsys, main, arguments.split()), name
        (last / name).write_bytes(before)
    (last / MANIFEST).write_text('{"files": {}}')
    lose("model.safetensors")(last)
    assert str(last) in refusal(capsys, main, arguments.split())
    assert check_checkpoint(first) is None


def said_of_weights(output: Path) -> str:
    """What the model card says of them."""
    card = (output / CARD).read_text("utf-8")
    return next(line for line in card.splitlines() if line.startswith("The weights"))


# A greater loss counts as better: at this rate it falls, and the first of three checkpoints is the best.
CHOSEN = "--save_total_limit 3 --metric_for_best_model loss --greater_is_better True --learning_rate 1e-4"


def test_a_run_does_not_go_on_when_its_best_checkpoint_is_lost(data: Path, made: Made, tmp_path: Path) -> None:
    """Nor does it delete anything; without a choice it does go on."""
    output = shutil.copytree(made("best", CHOSEN), tmp_path / "run")
    assert said_of_weights(output).endswith(", the best on validation.")
    best, resumed, last = checkpoints_in(output)
    shutil.rmtree(last)
    flip_a_bit(best)
    before = {checkpoint: content(checkpoint) for checkpoint in (best, resumed)}
    ended = run("best", data, output, extra=f"{CHOSEN} --resume_from_checkpoint last")
    assert ended.status == 2, ended.text
    told = "damaged, model.safetensors does not match its checksum"
    assert f"the best checkpoint up to {resumed}, {best}, cannot be loaded: {told}; resume" in ended.text
    assert {checkpoint: content(checkpoint) for checkpoint in checkpoints_in(output)} == before
    remedy = "--resume_from_checkpoint last --eval_strategy no --save_total_limit 1"
    finish("best", data, output, extra=f"{CHOSEN} {remedy}")
    assert "best on validation" not in (output / CARD).read_text("utf-8")
    assert check_checkpoint(last) is None, "the last one is not deleted for a best one that nobody takes"


def test_the_last_weights_are_kept_when_the_best_are_lost_meanwhile(data: Path, made: Made, tmp_path: Path) -> None:
    output = shutil.copytree(made("best", CHOSEN), tmp_path / "run")
    best, _, last = checkpoints_in(output)
    lost = at_call(CallbackHandler, "on_train_begin", 1, lambda *_: shutil.rmtree(best), after=True)
    ended = finish("best", data, output, lost, extra=f"{CHOSEN} --resume_from_checkpoint last")
    assert f"WARNING: the best checkpoint, {best}, cannot be loaded: folder not found; keeping the last" in ended.text
    assert "recorded in the resumed state" not in ended.text  # of the folder that was copied
    assert (output / "model.safetensors").read_bytes() == (last / "model.safetensors").read_bytes()
    assert said_of_weights(output).endswith("the best, were lost.")


def test_a_second_run_in_the_same_folder_is_refused(data: Path, tmp_path: Path) -> None:
    """While the first one trains; what it has written stays, and once it is killed nothing is in the way."""
    output, kinds = tmp_path / "run", ("", "--overwrite", "--resume_from_checkpoint last")

    def start_others(*_: Any, **__: Any) -> None:
        before = content(output)
        for extra in kinds:
            ended = run("steps", data, output, extra=extra)
            assert (ended.status, content(output)) == (2, before), ended.text
            assert "in use by another run" in ended.text
        os.kill(os.getpid(), signal.SIGKILL)

    ended = run("steps", data, output, at_call(Trainer, "training_step", 7, start_others))
    assert ended.status == -signal.SIGKILL, ended.text
    assert (output / LOCK_FILE).exists()
    with locked(output):  # by nobody else any more
        assert checkpoints_in(output)
    with locked(tmp_path / "new"):
        assert (tmp_path / "new").is_dir()
    assert not (tmp_path / "new").exists(), "a folder that was only locked goes again"


def poison_weights(trainer: Trainer, *_: Any) -> None:
    next(trainer.model.parameters()).data.fill_(float("nan"))


def poison_gradients(trainer: Trainer, *_: Any) -> None:
    next(trainer.model.parameters()).grad.fill_(float("inf"))


@pytest.mark.parametrize(
    ("function", "call", "poison", "extra", "told"),
    [
        ("_clip_grad_norm", 4, poison_gradients, "", ["not finite after step 4", "checkpoint-2"]),
        # In step 7, of two batches as all are; it is found where it is logged.
        (
            "training_step", 13, poison_weights, "--logging_steps 4 --save_strategy no",
            ["not finite by step 8; training stopped", "there is no checkpoint yet"],
        ),
    ],
    ids=["weights", "loss"],
)  # fmt: skip
def test_what_is_no_number_stops_the_run_and_is_not_saved(
    function: str, call: int, poison: Callable, extra: str, told: list[str], data: Path, tmp_path: Path
) -> None:
    """With one line; the checkpoints before are sound, and there is nothing else."""
    output = tmp_path / "run"
    ended = run("steps", data, output, at_call(Trainer, function, call, poison), extra=extra)
    assert ended.status == 2, ended.text
    error = ended.text.strip().splitlines()[-1]
    assert [piece for piece in (*told, "--learning_rate") if piece not in error] == []
    for checkpoint in checkpoints_in(output):
        assert check_checkpoint(checkpoint) is None
        assert all(weight.isfinite().all() for weight in load_file(checkpoint / "model.safetensors").values())
    assert not (output / "model.safetensors").exists()


def test_a_signal_says_how_to_go_on_and_a_second_one_ends_it_at_once(data: Path, tmp_path: Path, made: Made) -> None:
    """Before anything was evaluated."""
    extra = f"{CHOSEN} --early_stopping_patience 9"

    def stopped(folder: str, owner: Any, function: str, *calls: int) -> Ended:
        stops = [at_call(owner, function, call, send(signal.SIGINT)) for call in calls]
        return run("best", data, tmp_path / folder, *stops, extra=extra)

    ended = stopped("once", Trainer, "training_step", 3)
    assert ended.status == 128 + signal.SIGINT, ended.text
    (checkpoint,) = checkpoints_in(tmp_path / "once")
    told = ended.text.strip().splitlines()[-1]
    assert f"stopped by SIGINT after step 2, saved in {checkpoint}" in told
    assert told.endswith("--resume_from_checkpoint last")
    assert check_checkpoint(checkpoint) is None
    finish("best", data, tmp_path / "once", extra=f"{extra} --resume_from_checkpoint last")
    expected = made("best", CHOSEN) / "model.safetensors"
    assert (tmp_path / "once" / "model.safetensors").read_bytes() == expected.read_bytes()

    ended = stopped("twice", Trainer, "training_step", 3, 3)
    assert ended.status == -signal.SIGINT
    assert "send it again to stop at once" in ended.text
    assert not checkpoints_in(tmp_path / "twice")
    ended = stopped("early", Trainer, "__init__", 1)
    assert (ended.status, ended.text.strip().splitlines()[-1].endswith(": stopped")) == (128 + signal.SIGINT, True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A file system of its own, where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    yield folder if mounted else None
    if mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """To the last page but a few."""
    with (disk / "filler").open("wb", buffering=0) as file:
        while os.statvfs(disk).f_bavail > 3:
            file.write(bytes(4096))


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk(data: Path, small_disk: Path | None, tmp_path: Path, saved: Path) -> None:
    """A clear error; of the checkpoint that could not be saved nothing is left, and those before it are whole."""
    output = (small_disk or tmp_path) / "run"

    def run_out(*_: Any, **__: Any) -> None:
        fill(small_disk) if small_disk else limit_files(1 << 14)

    ended = run("steps", data, output, at_call(Trainer, "training_step", 9, run_out), extra=SAVED)
    assert ended.status == 2, ended.text
    told = ended.text.strip().splitlines()[-1]
    assert "could not be saved" in told or "could not be written" in told
    assert "--resume_from_checkpoint last" in told
    assert "Traceback" not in ended.text
    assert [check_checkpoint(checkpoint) for checkpoint in checkpoints_in(output)] == [None, None]
    if small_disk:
        (small_disk / "filler").unlink()
    finish("steps", data, output, extra=f"{SAVED} --resume_from_checkpoint last")
    assert (output / "model.safetensors").read_bytes() == (saved / "model.safetensors").read_bytes()


def test_checkpoints_are_in_the_order_of_their_steps_and_those_behind_one_are_set_aside(tmp_path: Path) -> None:
    for step in (900, 1000, 20, 1100):
        (tmp_path / f"checkpoint-{step}").mkdir()
        seal(tmp_path / f"checkpoint-{step}")
    assert list(map(step_of, checkpoints_in(tmp_path))) == [20, 900, 1000, 1100]
    set_aside(tmp_path / "checkpoint-1000")
    kept = {"checkpoint-20", "checkpoint-900", "_checkpoint-1000", "_checkpoint-1100"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_a_seal_is_set_when_all_has_reached_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").write_text("1")
    reached: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: reached.append(os.fstat(descriptor).st_ino))
    seal(tmp_path)
    assert reached == [path.stat().st_ino for path in (tmp_path / "weights", tmp_path / MANIFEST, tmp_path)]
