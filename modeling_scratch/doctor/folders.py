# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run the checks of a saved model in a child process, with limits of time and memory.

check_folder("runs/demo")
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoConfig, AutoTokenizer
from transformers.utils import logging

from ..bridges.model_sources import pretrained
from ..sharing.model_files import all_files, named_code
from ..sharing.saved_model import load_model
from ..utils.errors import DataError, one_line
from . import files
from .examination import CHECKS, chosen
from .findings import LONGEST, Check, Diagnosis, DoesNotApply, FallsShort, Finding, Verdict, check, only_if
from .subject import Subject

SECONDS = 60  # for each check
GIBIBYTES = 16  # of address space, for the child
FILES_ALONE = {each.name for each in CHECKS if each.run.__module__ == files.__name__}
NOT_TRUSTED = "The folder brings its own code, which runs with --trust_remote_code only."


def check_folder(
    folder: str | Path,
    is_trusted: bool = False,
    tokenizer: str | None = None,
    only: Collection[str] = (),
    seconds: float = SECONDS,
    progress: Callable[[Finding], object] = lambda found: None,
) -> Diagnosis:
    """Examine a saved model in a child process. Raises `DataError` for a folder without config.json.

    is_trusted: whether code that the folder brings may run, in the child. tokenizer: the folder of another tokenizer.
    seconds: for loading, and for each check; one that takes longer falls short, and the others still run. progress:
    called with each finding as it comes.
    """
    path = Path(folder)
    if not (path / "config.json").is_file():
        raise DataError(f"{folder}: no config.json; name the folder of a saved model")
    job = {"folder": str(path.resolve()), "is_trusted": is_trusted, "tokenizer": tokenizer}
    checks, found = chosen(only), dict[str, Finding]()
    while left := [each for each in checks if each.name not in found]:
        for each in _from_child(job, left, seconds):
            found[each.check] = each
            progress(each)
        loaded = found.pop(loading.name, None)
        if loaded and loaded.verdict is not Verdict.HOLDS:
            found = {each.name: each.finding(loaded.verdict, loaded.what) for each in left} | found
    return Diagnosis(path.name, [found[each.name] for each in checks])


def _from_child(job: dict[str, Any], checks: Sequence[Check], seconds: float) -> Iterator[Finding]:
    """Yield findings until the child ends; that of the step at which it died or was stopped is the last."""
    command = [sys.executable, "-m", __name__, json.dumps({**job, "checks": [each.name for each in checks]})]
    with tempfile.TemporaryDirectory() as scratch:  # for what a child that is stopped leaves behind
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": scratch}, start_new_session=True,
        )  # fmt: skip
        try:
            assert child.stdout
            with Connection(os.dup(child.stdout.fileno()), writable=False) as answers:
                for number, step in enumerate(steps_of(checks)):
                    found = _next_finding(answers, seconds if number else 2 * seconds)  # the first waits for imports
                    yield found or step.finding(Verdict.FALLS_SHORT, _ended(child, step, seconds))
                    if found is None or (step is loading and found.verdict is not Verdict.HOLDS):
                        return
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # also what the child has started
            child.wait()


def steps_of(checks: Sequence[Check]) -> list[Check]:
    """Return the checks of files, then loading and the others if there are any."""
    others = [each for each in checks if each.name not in FILES_ALONE]
    return [each for each in checks if each.name in FILES_ALONE] + ([loading, *others] if others else [])


def _next_finding(answers: Connection, seconds: float) -> Finding | None:
    """Return the next finding; None if there is none in this time, or no more."""
    with suppress(EOFError, OSError):
        if answers.poll(seconds):
            answer = json.loads(answers.recv_bytes())
            return Finding(**{**answer, "verdict": Verdict(answer["verdict"])})
    return None


def _ended(child: "subprocess.Popen[bytes]", step: Check, seconds: float) -> str:
    """Return how a child without a next finding ended."""
    what, done = ("Loading", "loaded") if step is loading else ("It", "ran")
    try:
        status = child.wait(timeout=5)  # one that exits closes its pipe some time before
    except subprocess.TimeoutExpired:
        return f"{what} did not end within {seconds:g} seconds."
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return f"The process that {done} it died ({how})."


# In the child


@check("")
def loading(child: Any) -> None:
    """The model can be loaded.

    A step of the child between the checks of files and the others, and no finding of its own.
    """
    try:
        child.subject = _load(child.folder, child.is_trusted, child.tokenizer)
    except DoesNotApply:
        raise
    except Exception as error:  # of files, and of code that the folder brings: any
        reason = f"It cannot be loaded: {one_line(error)[:LONGEST]}"
        # An unknown config or class may be that of the folder's code. With damaged weights, no code helps.
        if isinstance(error, ValueError) and not isinstance(error, DataError) and not child.is_trusted:
            with suppress(ValueError):  # of files that are not JSON, for which loading fails, too
                only_if(not named_code(child.folder, all_files(child.folder)), f"{NOT_TRUSTED} {reason}")
        raise FallsShort(reason) from error


def _load(folder: Path, is_trusted: bool, tokenizer: str | None) -> Subject:
    model, _ = load_model(folder, is_trusted)
    if is_trusted and model.config.model_type in CONFIG_MAPPING:
        # Auto classes prefer what this package has registered to the code of the folder, which its checks are about.
        AutoConfig.register(model.config.model_type, type(model.config), exist_ok=True)
    has_one = tokenizer or any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json"))
    found = pretrained(AutoTokenizer, tokenizer or folder, is_trusted) if has_one else None
    return Subject(model.float(), found, folder, is_trusted)


def examine_folder(job: dict[str, Any]) -> Iterator[Finding]:
    """Yield the findings of a folder, in this process; the last is that of loading if it fails."""
    child = SimpleNamespace(**{**job, "folder": Path(job["folder"])})
    child.subject = child  # checks of files need its folder alone
    for each in steps_of(chosen(job["checks"])):
        found = each.examine(child if each is loading else child.subject)
        yield found
        if each is loading and found.verdict is not Verdict.HOLDS:
            return


def main(job: dict[str, Any]) -> None:
    limit = GIBIBYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    torch.set_num_threads(max(1, min(2, os.cpu_count() or 1)))
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    process = os.getpid()
    answers = Connection(os.dup(sys.stdout.fileno()), readable=False)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the model prints is no finding
    for found in examine_folder(job):
        if os.getpid() != process:
            os._exit(0)  # the model has forked; what the other process finds is told already
        answers.send_bytes(json.dumps(asdict(found)).encode())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
