# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A quarter of an hour with a GPU: parts in order of worth, each with a time limit, each result kept at once.

A part runs in a process of its own, forked from one that has imported the libraries, and is stopped at its limit. Its
rows are in the folder's results.json and results.md as soon as they are known; a second call goes on after them.
"""

import json
import multiprocessing
import os
import platform
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch
import transformers

from ..utils.errors import DataError, one_line
from ..utils.files import write_json, write_text
from ..utils.markdown import table
from . import gpu_accuracy, gpu_speed, gpu_trainer
from .gpu_tokens import Tokens, demo_tokens, read_tokens

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE = "results.json", "results.md"
NO_DEVICE = "no CUDA device: run this on a machine with an NVIDIA GPU and a CUDA build of torch, or --rehearse it"
ENDINGS = "stopped", "failed"  # rows of a part that did not come to its end
LEAST_CAPABILITY = 8, 0  # Ampere
OTHERWISE = "`modeling-scratch benchmark train-sst2 --device cuda --dtype float16` measures this device"
LEAST_SECONDS = 1  # with less, no part begins
SUMMARY = re.compile(r"\d+ (passed|failed|skipped|deselected|errors?)\b|no tests ran")
CHECKS = (
    "tests/fast/test_static_shapes.py", "tests/fast/test_captured.py", "tests/fast/test_captured_decoding.py",
    "tests/run/test_captured_trainer.py",
)  # fmt: skip


@dataclass
class Session:
    """A call of the program: where its results go, what they are, and what they are measured with."""

    folder: Path
    device: torch.device
    rehearses: bool
    tokens: Tokens
    results: dict[str, dict[str, Row]]

    def done(self, part: str) -> dict[str, Row]:
        return self.results.setdefault(part, {})

    def begin(self, part: str, now: Row) -> None:
        """Keep the conditions of a part. Raises DataError where earlier rows of it were found under others."""
        before = self.done(part).get("conditions", now)
        if changed := [name for name in now if name != "date" and before.get(name) != now[name]]:
            raise DataError(f"{self.folder / RESULTS} has rows of another {changed[0]}: {before.get(changed[0])}")
        if known := self.done(part).keys() - {"conditions", *ENDINGS}:
            tell(f"{part}: {len(known)} rows are known from earlier calls; --overwrite measures them again")
        self.keep(part, "conditions", now | {"date": before.get("date", now["date"])})

    def keep(self, part: str, key: str, row: Row) -> None:
        """Write a row at once: a session may end at any moment."""
        self.done(part)[key] = row
        write_json(self.folder / RESULTS, self.results)
        write_text(self.folder / PAGE, page(self.results))
        tell(f"{part}: {key}: " + ", ".join(f"{name} {value}" for name, value in row.items()))


def tell(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", flush=True)


# --- the parts -------------------------------------------------------------------------------------------------------


def checks(session: Session) -> Rows:
    """Captured steps equal plain ones, without a recompilation or a wait for the device."""
    mark, key = "not gpu and not slow" if session.rehearses else "gpu", "equality, no recompilation, no wait"
    if session.done("checks").get(key, {"failed": True})["failed"]:
        yield key, pytest_result(mark, CHECKS)


def pytest_result(mark: str, files: Sequence[str]) -> Row:
    """What pytest says of the tests with this mark in these files; it prints what fails."""
    command = [sys.executable, "-m", "pytest", "-m", mark, "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    ended = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.strip()]
    if ended.returncode not in (0, 5):  # 5: no test has the mark
        print("\n".join(lines[-120:]), ended.stderr[-2000:], flush=True)
    summary = [line.strip("= ") for line in lines if SUMMARY.search(line)]
    result = summary[-1] if summary else f"exit status {ended.returncode}"
    return {"result": result, "failed": [line for line in lines if line.startswith(("FAILED ", "ERROR "))]}


def measured(compare: Callable[[Tokens, gpu_speed.Plan, Mapping[str, Row]], Rows], part: str) -> Callable[..., Rows]:
    """The rows of a comparison of gpu_speed or gpu_trainer."""

    def rows(session: Session) -> Rows:
        plan = gpu_speed.rehearsed_plan() if session.rehearses else gpu_speed.full_plan()
        return compare(session.tokens, plan, session.done(part))

    return rows


def accuracy(session: Session) -> Rows:
    """A Transformer from random weights on IMDb and SST-2."""
    make = gpu_accuracy.rehearsed_recipe if session.rehearses else gpu_accuracy.Recipe
    done = session.done("accuracy")
    yield from gpu_accuracy.train_from_scratch(session.tokens, make(session.device), session.folder, done, tell)


@dataclass(frozen=True)
class Part:
    """What runs, the title of its table, and for how many seconds it may run."""

    rows: Callable[[Session], Rows]
    title: str
    seconds: float


PARTS = {
    "checks": Part(checks, "Checks", 100),
    "trainer": Part(measured(gpu_trainer.compare_trainers, "trainer"), "Milliseconds a step of Trainer", 250),
    "accuracy": Part(accuracy, "A Transformer from random weights", 310),
    "inference": Part(measured(gpu_speed.compare_inference, "inference"), "Milliseconds of inference", 75),
    "generation": Part(measured(gpu_speed.compare_generation, "generation"), "Milliseconds a generated token", 120),
}


# --- running them ----------------------------------------------------------------------------------------------------


def run_parts(
    names: Sequence[str], folder: Path, tokens_file: Path, minutes: float, rehearses: bool = False, anew: bool = False
) -> dict[str, dict[str, Row]]:
    """Run parts until the minutes are over; return all results, those of earlier calls too.

    anew: forget what earlier calls have found of these parts. Raises DataError without a CUDA device or a file of
    tokens, except in a rehearsal, which needs neither.
    """
    started, deadline = time.monotonic(), time.monotonic() + 60 * minutes
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asks without CUDA, which a forked process could not use then
    if not rehearses and not torch.cuda.is_available():
        raise DataError(NO_DEVICE)
    results = read_results(folder)
    tokens = demo_tokens() if rehearses else read_tokens(tokens_file)
    folder.mkdir(parents=True, exist_ok=True)
    if anew:
        results = {name: rows for name, rows in results.items() if name not in names}
        write_json(folder / RESULTS, results)
    session = Session(folder, torch.device("cpu" if rehearses else "cuda"), rehearses, tokens, results)
    tell(f"ready after {time.monotonic() - started:.0f} s; results go to {folder / PAGE}")
    for name in names:
        part = PARTS[name]
        limit = min(part.seconds, deadline - time.monotonic())
        if limit < LEAST_SECONDS:
            tell(f"{name}: no time left; call again, it goes on here")
            continue
        _run(name, part, session, limit)
    return session.results


def has_failed(results: Mapping[str, Mapping[str, Row]], names: Sequence[str]) -> bool:
    """Return whether one of these parts ended with an error, or a test in it failed."""
    rows = [row for name in names for row in results.get(name, {}).values()]
    return any("error" in row or row.get("failed") for row in rows)


def read_results(folder: Path) -> dict[str, dict[str, Row]]:
    """Read what earlier calls have found. Raises DataError for another file."""
    file = folder / RESULTS
    try:
        results = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        if not all(isinstance(row, dict) for rows in results.values() for row in rows.values()):
            raise ValueError("a row is no object")
    except (AttributeError, ValueError) as error:
        raise DataError(f"{file}: not the results of an earlier call ({error}); name another --output") from error
    return results


def _run(name: str, part: Part, session: Session, limit: float) -> None:
    """Run a part in a process of its own; stop it, and what it started, at its limit or with this process."""
    tell(f"{name}: at most {limit:.0f} s")
    start = time.monotonic()
    child = multiprocessing.get_context("fork").Process(target=_work, args=(name, part, session))
    child.start()
    was_stopped = False
    try:
        child.join(limit)
        was_stopped = child.is_alive()
    finally:
        if child.is_alive():
            stop_group(child.pid)
        child.join()
    session.results = read_results(session.folder)
    if was_stopped:
        session.keep(name, "stopped", {"at its limit of": f"{limit:.0f} s"})
    elif child.exitcode and "failed" not in session.done(name):
        session.keep(name, "failed", {"error": f"its process ended with exit code {child.exitcode}"})
    elif not child.exitcode:
        tell(f"{name}: done after {time.monotonic() - start:.0f} s")


def stop_group(process: int) -> None:
    """Kill a process and its group, which it leads as soon as it runs."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(process, signal.SIGKILL)


def _work(name: str, part: Part, session: Session) -> None:
    os.setsid()  # a group of processes: what compiles in parallel ends with it
    for ending in ENDINGS:  # of an earlier call
        session.done(name).pop(ending, None)
    try:
        session.begin(name, conditions(session.device, session.rehearses) | {"tokens": session.tokens.origin})
        for key, row in part.rows(session):
            session.keep(name, key, row)
    except Exception as error:
        traceback.print_exc()
        session.keep(name, "failed", {"error": f"{type(error).__name__}: {one_line(error)[:300]}"})
        sys.exit(1)


def conditions(device: torch.device, rehearses: bool) -> Row:
    """What the figures depend on, by name."""
    found = {
        "torch": torch.__version__, "transformers": transformers.__version__, "Python": platform.python_version(),
        "date": str(date.today()),
    }  # fmt: skip
    if device.type == "cuda":
        capability = torch.cuda.get_device_capability()
        name = f"{torch.cuda.get_device_name()} (compute capability {capability[0]}.{capability[1]})"
        if capability < LEAST_CAPABILITY:
            raise DataError(f"{name}: bfloat16 and the kernels for packed texts need 8.0; {OTHERWISE}")
        found = {"device": name, "CUDA of torch": str(torch.version.cuda), **found}
    return {"rehearsal": "tiny sizes on a CPU; no figure means anything", **found} if rehearses else found


# --- the page --------------------------------------------------------------------------------------------------------


def page(results: Mapping[str, Mapping[str, Row]]) -> str:
    """All results as Markdown: of each part its conditions and a table."""
    pieces = ["# On a GPU"]
    for name, rows in results.items():
        found = {key: row for key, row in rows.items() if key != "conditions"}
        told = rows.get("conditions", {})
        pieces += [
            f"## {PARTS[name].title if name in PARTS else name}",
            "; ".join(f"{key}: {value}" for key, value in told.items()),
        ]
        pieces += [_table(found)] if found else []
    return "\n\n".join(pieces) + "\n"


def _table(rows: Mapping[str, Row]) -> str:
    heads = dict.fromkeys(name for row in rows.values() for name in row if not name.endswith(", range"))
    return table(["", *heads], [[key, *(_cell(row.get(head)) for head in heads)] for key, row in rows.items()])


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
