# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Programs in processes of their own that need not import the libraries again: forks of one process that has."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]

# A child ends as any program does, with its exit code, message or traceback, except that it takes nothing down.
FORKS = """
import gc, importlib, json, os, runpy, sys, traceback

def run(arguments, environment, output):
    os.environ.update(environment)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, number in ((os.open(os.devnull, os.O_RDONLY), 0), (written, 1), (written, 2)):
        os.dup2(stream, number)
    sys.argv = arguments
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

def serve(modules):
    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # children leave alone what they share
    while request := json.loads(sys.stdin.readline() or "null"):
        if (child := os.fork()) == 0:
            code = run(*request["run"]) if "run" in request else serve(request["import"])
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return 0

sys.exit(serve(sys.argv[1:]))
"""


class Ended(NamedTuple):
    """A program that has ended: its exit code, and what it wrote to its standard output and error."""

    code: int
    text: str


class WarmPython:
    """`with WarmPython(folder, modules, environment) as python` has imported the modules; one program at a time."""

    def __init__(
        self, folder: Path, modules: Sequence[str], environment: dict[str, str], cwd: Path | None = None
    ) -> None:
        """folder: for the outputs of programs, which are in `outputs`, one after another; they stand in cwd."""
        self.folder = folder
        self.outputs: list[str] = []
        paths = os.pathsep.join(str(ROOT / name) for name in ("", "scripts", "tests", "tests/tasks", "tests/training"))
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKS, *modules],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": paths, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> "WarmPython":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def start(self, program: Path, *arguments: object, **environment: str) -> int:
        """Its process id, for signals; `end` waits for it."""
        return self._ask({"run": [list(map(str, (program, *arguments))), environment, str(self.folder / "output")]})

    def _ask(self, request: dict[str, Any] | None) -> int:
        """The number that is the answer to each request: a process id, or an exit code."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        return int(self.process.stdout.readline())

    @contextmanager
    def importing(self, modules: Sequence[str]) -> Iterator[None]:
        """Meanwhile programs are forks of a fork that has imported these modules, too."""
        self._ask({"import": [*modules]})
        yield
        assert self._ask(None) == 0

    def end(self) -> Ended:
        assert self.process.stdout
        code = int(self.process.stdout.readline())
        self.outputs.append((self.folder / "output").read_text(encoding="utf-8"))
        return Ended(code, self.outputs[-1])

    def run(self, program: Path, *arguments: object, **environment: str) -> Ended:
        self.start(program, *arguments, **environment)
        return self.end()

    def kill(self, process: int, how: signal.Signals) -> Ended:
        os.kill(process, how)
        return self.end()
