# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Processes of one run: forks of a process that has imported the libraries, or what `accelerate launch` starts."""

import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing
from torch.distributed import destroy_process_group, is_initialized

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "scripts" / "accelerate"


def free_port() -> int:
    store = torch.distributed.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    return store.port


def together(processes: int, function: Callable[..., None], *arguments: Any) -> None:
    """Call function(rank, *arguments) in each process, a fork of this one."""
    torch.multiprocessing.start_processes(
        _process, (processes, free_port(), function, arguments), nprocs=processes, start_method="fork"
    )


def _process(rank: int, processes: int, port: int, function: Callable[..., None], arguments: tuple) -> None:
    torch.set_num_threads(1)
    gc.freeze()  # Trainer looks for garbage with every run, and need not look through the libraries
    if processes > 1:
        places = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in places.items()}, MASTER_ADDR="localhost")
    function(rank, *arguments)
    if is_initialized():
        destroy_process_group()


def program(rank: int, name: str, options: str) -> None:
    """A script of the project, for `together`."""
    importlib.import_module(name).main(options.split())


def launching(options: str, *program: str) -> list[str]:
    """The command that starts a program by `accelerate launch` with the settings of the project."""
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(SETTINGS / "ddp.yaml")]
    return [*launch, *options.split(), *program]


def start(command: list[str]) -> subprocess.Popen[str]:
    paths = os.pathsep.join(
        map(str, (ROOT, ROOT / "scripts", ROOT / "tests", ROOT / "tests" / "tasks", ROOT / "tests" / "training"))
    )
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def losses(folder: Path) -> list[float]:
    """The loss of each step of a run."""
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in history if "loss" in entry]
