# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Functions in processes of their own, which have transformers and, as is asked for, this package or not."""

import atexit
import json
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from warm_python import WarmPython

LIBRARIES = "torch", *(f"transformers.{name}" for name in ("masking_utils", "modeling_layers", "pipelines"))
CALL = """
import importlib, json, os, runpy, sys
HIDDEN = "modeling_scratch", "tokenization"
sys.modules.update(dict.fromkeys(HIDDEN))
from pathlib import Path
import torch, transformers
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()
where, file, function, arguments = json.loads(sys.argv[1])
if where == "here":
    for name in HIDDEN:
        del sys.modules[name]
    importlib.import_module(HIDDEN[0])
print("\\n" + json.dumps({"answer": runpy.run_path(file, globals())[function](where, *arguments)}))
"""


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def home() -> str:
    """HF_HOME of these processes."""
    return _folder().name


@cache
def _python() -> WarmPython:
    """For all tests of this process, with which it ends. It has imported nothing of ours."""
    python = WarmPython(Path(home()), LIBRARIES, {"HF_HOME": home()}, Path("/"))
    atexit.register(python.process.communicate)
    return python


def run_fresh(code: str, plan: Sequence[tuple]) -> list[Any]:
    """What functions of the code return, as JSON has it, for a plan of rows (where, function, argument, ...).

    where: "there", where this package cannot be imported, or "here", where it is; functions take it first.
    """
    answers, call, file = [], Path(home(), "call.py"), Path(home(), "functions.py")
    call.write_text(CALL, encoding="utf-8")
    file.write_text(code, encoding="utf-8")
    for where, function, *arguments in plan:
        ended = _python().run(call, json.dumps([where, str(file), function, arguments]))
        assert ended.code == 0, ended.text
        answers.append(
            next(json.loads(line) for line in ended.text.splitlines() if line.startswith('{"answer"'))["answer"]
        )
    return answers
