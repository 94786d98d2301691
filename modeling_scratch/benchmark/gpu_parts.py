# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A quarter of an hour with a GPU: parts in order of worth, each with a time limit, each result kept at once.

A part runs in a process of its own, forked from one that has imported the libraries, and is stopped at its limit. Its
rows are in the folder's results.json and results.md as soon as they are known; a second call goes on after them.
"""

import json
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

from ..utils.errors import DataError, one_line
from ..utils.files import write_json, write_text
from ..utils.markdown import table
from . import gpu_accuracy, gpu_speed
from .gpu_tokens import Tokens, demo_tokens, read_tokens

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
Results = dict[str, dict[str, Row]]  # by part and key

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE = "results.json", "results.md"
NO_DEVICE = "no CUDA device: run this on a machine with an NVIDIA GPU and a CUDA build of torch, or --rehearse it"
ENDINGS = "stopped", "failed"  # rows of a part that did not come to its end
LEAST_CAPABILITY = 8, 0  # Ampere
OTHERWISE = "`modeling-scratch benchmark train-sst2 --device cuda --dtype float16` measures this device"
LEAST_SECONDS = 1  # with less, no part begins
CHECKS = (
    "tests/fast/test_static_shapes.py", "tests/fast/test_captured.py", "tests/fast/test_captured_decoding.py",
    "tests/run/test_captured_trainer.py",
)  # fmt: skip


@dataclass
class Session:
    """A call of the program: where its results go, what they are, and what they are measured with."""

    folder: Path
    rehearses: bool
    tokens: Tokens
    results: Results

    def done(self, part: str) -> dict[str, Row]:
        return self.results.setdefault(part, {})

    def begin(self, part: str) -> None:
        """Keep the conditions of a part. Raises DataError where earlier rows of it were found under others."""
        now = conditions(self.rehearses) | {"tokens": self.tokens.origin}
        for ending in ENDINGS:  # of an earlier call
            self.done(part).pop(ending, None)
        before = self.done(part).get("conditions", now)
        if changed := [name for name in now if name != "date" and before.get(name) != now[name]]:
            raise DataError(f"{self.folder / RESULTS} has rows of another {changed[0]}: {before.get(changed[0])}")
        if known := self.done(part).keys() - {"conditions"}:
            tell(f"{part}: {len(known)} rows are known from earlier calls; --overwrite measures them again")
        self.keep(part, "conditions", before)

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
    """What pytest says of captured steps, which equal plain ones and never wait; it prints what fails."""
    key = "equality, no recompilation, no wait"
    if not session.done("checks").get(key, {"failed": True})["failed"]:
        return
    mark = "not gpu and not slow" if session.rehearses else "gpu"
    command = [sys.executable, "-m", "pytest", "-m", mark, "--tb=short", "-p", "no:cacheprovider", *CHECKS]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.strip()]
    if ended.returncode not in (0, 5):  # 5: no test has the mark
        print("\n".join(lines[-120:]), ended.stderr[-2000:], flush=True)
    result = lines[-1] if lines else f"exit status {ended.returncode}"
    yield key, {"result": result, "failed": [line for line in lines if line.startswith(("FAILED ", "ERROR "))]}


def speed(part: str, session: Session) -> Rows:
    """The rows of a comparison with Hugging Face's classes."""
    plan = gpu_speed.REHEARSED if session.rehearses else gpu_speed.FULL
    return gpu_speed.compare(part, session.tokens, plan, session.done(part))


def accuracy(session: Session) -> Rows:
    """The rows of a Transformer from random weights on IMDb and SST-2."""
    recipe = gpu_accuracy.REHEARSED if session.rehearses else gpu_accuracy.FULL
    return gpu_accuracy.train_from_scratch(session.tokens, recipe, session.folder, session.done("accuracy"), tell)


class Part(NamedTuple):
    """What runs, the title of its table, and for how many seconds it may run."""

    rows: Callable[[Session], Rows]
    title: str
    seconds: float


PARTS = {
    "checks": Part(checks, "Checks", 100),
    "trainer": Part(partial(speed, "trainer"), "Milliseconds a step of Trainer", 250),
    "accuracy": Part(accuracy, "A Transformer from random weights", 310),
    "inference": Part(partial(speed, "inference"), "Milliseconds of inference", 75),
    "generation": Part(partial(speed, "generation"), "Milliseconds a generated token", 120),
}


# --- running them ----------------------------------------------------------------------------------------------------


def run_parts(
    names: Sequence[str], folder: Path, tokens_file: Path, minutes: float, rehearses: bool = False, anew: bool = False
) -> Results:
    """Run parts until the minutes are over; return all results, those of earlier calls too.

    anew: forget what earlier calls have found of these parts. Raises DataError without a CUDA device or a file of
    tokens, except in a rehearsal, which needs neither.
    """
    deadline = time.monotonic() + 60 * minutes
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asks without CUDA, which a forked process could not use then
    if not rehearses and not torch.cuda.is_available():
        raise DataError(NO_DEVICE)
    tokens = demo_tokens() if rehearses else read_tokens(tokens_file)
    results = {name: rows for name, rows in read_results(folder).items() if not (anew and name in names)}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / RESULTS, results)
    session = Session(folder, rehearses, tokens, results)
    tell(f"results go to {folder / PAGE}")
    for name in names:
        if (limit := min(PARTS[name].seconds, deadline - time.monotonic())) < LEAST_SECONDS:
            tell(f"{name}: no time left; call again, it goes on here")
        else:
            _run(name, session, limit)
    return session.results


def has_failed(results: Mapping[str, Mapping[str, Row]], names: Sequence[str]) -> bool:
    """Return whether one of these parts ended with an error, or a test in it failed."""
    rows = [row for name in names for row in results.get(name, {}).values()]
    return any("error" in row or row.get("failed") for row in rows)


def read_results(folder: Path) -> Results:
    """Read what earlier calls have found. Raises DataError for another file."""
    file = folder / RESULTS
    try:
        results = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        if not all(isinstance(row, dict) for rows in results.values() for row in rows.values()):
            raise ValueError("a row is no object")
    except (AttributeError, ValueError) as error:
        raise DataError(f"{file}: not the results of an earlier call ({error}); name another --output") from error
    return results


def _run(name: str, session: Session, limit: float) -> None:
    """Run a part in a process of its own; kill it, and what it started, at its limit or with this process."""
    tell(f"{name}: at most {limit:.0f} s")
    start = time.monotonic()
    child = multiprocessing.get_context("fork").Process(target=_work, args=(name, session))
    child.start()
    try:
        child.join(limit)
    finally:
        if was_stopped := child.is_alive():
            for kill in (os.killpg, os.kill):  # it leads its group as soon as it runs
                with suppress(ProcessLookupError):
                    kill(child.pid, signal.SIGKILL)
        child.join()
    session.results = read_results(session.folder)
    if was_stopped:
        session.keep(name, "stopped", {"at its limit of": f"{limit:.0f} s"})
    elif child.exitcode:
        session.keep(name, "failed", {"error": f"its process ended with exit code {child.exitcode}"})
    elif "failed" not in session.done(name):
        tell(f"{name}: ended after {time.monotonic() - start:.0f} s")


def _work(name: str, session: Session) -> None:
    os.setsid()  # a group of processes: what compiles in parallel ends with it
    try:
        session.begin(name)
        for key, row in PARTS[name].rows(session):
            session.keep(name, key, row)
    except Exception as error:  # of any library
        traceback.print_exc()
        session.keep(name, "failed", {"error": f"{type(error).__name__}: {one_line(error)[:300]}"})


def conditions(rehearses: bool) -> Row:
    """What the figures depend on, by name."""
    found = {"torch": torch.__version__, "transformers": transformers.__version__, "Python": platform.python_version()}
    found["date"] = str(date.today())
    if rehearses:
        return {"rehearsal": "tiny sizes on a CPU; no figure means anything", **found}
    capability = torch.cuda.get_device_capability()
    name = f"{torch.cuda.get_device_name()} (compute capability {capability[0]}.{capability[1]})"
    if capability < LEAST_CAPABILITY:
        raise DataError(f"{name}: bfloat16 and the kernels for packed texts need 8.0; {OTHERWISE}")
    return {"device": name, "CUDA of torch": str(torch.version.cuda), **found}


# --- the page --------------------------------------------------------------------------------------------------------


def page(results: Mapping[str, Mapping[str, Row]]) -> str:
    """All results as Markdown: of each part its conditions and a table."""
    pieces = ["# On a GPU"]
    for name, rows in results.items():
        told = "; ".join(f"{key}: {value}" for key, value in rows.get("conditions", {}).items())
        pieces += [f"## {PARTS[name].title if name in PARTS else name}", told]
        if found := {key: row for key, row in rows.items() if key != "conditions"}:
            heads = dict.fromkeys(head for row in found.values() for head in row if not head.endswith(", range"))
            lines = [[key, *(_cell(row.get(head, "")) for head in heads)] for key, row in found.items()]
            pieces.append(table(["", *heads], lines))
    return "\n\n".join(pieces) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
