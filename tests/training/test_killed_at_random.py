# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every training program, killed at random moments and started again: the weights are those of an undisturbed run.

What a killed process leaves changes with what it does to files. So a moment is one of these: a run reports each open,
rename, removal and creation in its output folder before it happens, and dies of SIGKILL at one that is drawn.
SCRATCH_SEED draws others.
"""

# ruff: noqa: F401, F811
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import RUNS, SIZES, data, finish, run

SEED = int(os.environ.get("SCRATCH_SEED", "20261122"))
MOMENTS = 40
FIRST = f"--config_overrides {SIZES}".replace("hidden_size=16", "hidden_size=8")  # of the run that --overwrite replaces
DRAW = random.Random(SEED)
PROGRAMS = [(DRAW.choice([*RUNS]), DRAW.random() < 1 / 3, DRAW.random()) for _ in range(MOMENTS)]
CASES = [
    pytest.param(name, replaces, part, id=f"{number}-{name}{'-overwrite' * replaces}")
    for number, (name, replaces, part) in enumerate(PROGRAMS)
]


def die_at(number: int, output: Path, counted: Path) -> Callable[[], None]:
    """An action: the process kills itself at its number-th file event; 0: never, it counts them."""

    def install() -> None:
        events = [0]

        def see(event: str, arguments: tuple) -> None:
            is_of_files = event == "open" or event.startswith(("os.", "shutil."))
            if is_of_files and arguments and str(arguments[0]).startswith(str(output)):
                events[0] += 1
                if events[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                if not number:
                    os.write(descriptor, b".")

        descriptor = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sys.addaudithook(see)

    return install


def weights_in(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], tuple[Path, int]]:
    """The folder of each program's run, alone or with --overwrite, and its number of file events."""
    parent = tmp_path_factory.mktemp("undisturbed")

    def of(name: str, replaces: bool) -> tuple[Path, int]:
        folder, counted = parent / f"{name}-{replaces}", parent / f"{name}-{replaces}.count"
        if not folder.exists():
            if replaces:
                finish(name, data, folder, extra=FIRST)
            finish(name, data, folder, die_at(0, folder, counted), extra="--overwrite" * replaces)
        return folder, counted.stat().st_size

    return of


@pytest.mark.slow
@pytest.mark.parametrize(("name", "replaces", "part"), CASES)
def test_a_run_that_is_killed_ends_with_the_weights_of_one_that_is_not(
    name: str, replaces: bool, part: float, data: Path, tmp_path: Path, undisturbed: Callable
) -> None:
    expected, events = undisturbed(name, replaces)
    folder, moment = tmp_path / "run", 1 + int(part * events)
    print(f"seed {SEED}: {name}, file event {moment} of {events}")
    if replaces:
        finish(name, data, folder, extra=FIRST)
        before = weights_in(folder)
    ended = run(name, data, folder, die_at(moment, folder, tmp_path / "count"), extra="--overwrite" * replaces)
    assert ended.status == -signal.SIGKILL, ended.text
    if replaces:
        kept = [path for path in (folder, folder / "_replaced-1") if (path / "model.safetensors").is_file()]
        assert kept, "neither the earlier result nor the new one is there"
        assert any(weights_in(path) in (before, weights_in(expected)) for path in kept)
    for extra in ("--resume_from_checkpoint last", "", "--overwrite"):
        ended = run(name, data, folder, extra=extra)
        if ended.status == 0:
            break
        assert ended.status == 2, ended.text
    assert ended.status == 0, ended.text
    assert weights_in(folder) == weights_in(expected)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(("_replaced", ".unfinished"))]
