# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Functions in processes of their own, which have transformers and, as is asked for, this package or not."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

# Each line of the plan is run by a fork of one process that has imported nothing of ours: as fresh, and at once.
FORKS = """
import gc, importlib, json, os, runpy, sys, traceback
HIDDEN = "modeling_scratch", "tokenization"
sys.modules.update(dict.fromkeys(HIDDEN))
from pathlib import Path
import torch, transformers, transformers.masking_utils, transformers.modeling_layers, transformers.pipelines
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()
gc.freeze()

def outcome(file, where, function, arguments):
    try:
        if where == "here":
            for name in HIDDEN:
                del sys.modules[name]
            importlib.import_module(HIDDEN[0])
        return {"answer": runpy.run_path(file, globals())[function](where, *arguments)}
    except BaseException:
        return {"error": traceback.format_exc()}

for line in sys.stdin:
    if (child := os.fork()) == 0:
        sys.stdin = open(os.devnull)  # nobody answers a question, for which the library would wait
        print("\\n" + json.dumps(outcome(*json.loads(line))), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def home() -> str:
    """HF_HOME of these processes."""
    return _folder().name


@cache
def _server() -> subprocess.Popen[str]:
    """For all tests of this process, with which it ends."""
    server = subprocess.Popen(
        [sys.executable, "-I", "-c", FORKS],
        cwd="/",
        env={**os.environ, "HF_HOME": home()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def run_fresh(code: str, plan: Sequence[tuple]) -> list[Any]:
    """What functions of the code return, as JSON has it, for a plan of rows (where, function, argument, ...).

    where: "there", where this package cannot be imported, or "here", where it is; functions take it first.
    """
    server, answers, file = _server(), [], Path(home(), "functions.py")
    file.write_text(code, encoding="utf-8")
    assert server.stdin
    assert server.stdout
    for where, function, *arguments in plan:
        server.stdin.write(json.dumps((str(file), where, function, arguments)) + "\n")
        server.stdin.flush()
        found = next(json.loads(line) for line in server.stdout if line.startswith(('{"answer"', '{"error"')))
        assert "error" not in found, found["error"]
        answers.append(found["answer"])
    return answers
