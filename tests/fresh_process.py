# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Functions in processes of their own, which have transformers and, as is asked for, this package or not."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conftest import run_without_package

# Each line of the plan is run by a fork of one process that has imported nothing of ours: as fresh, and at once.
FORKS = """
import gc, json, os, traceback
from pathlib import Path
import torch, transformers, transformers.masking_utils, transformers.modeling_layers, transformers.pipelines
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()
gc.freeze()

def in_a_child(where, function, arguments):
    if (child := os.fork()) == 0:
        try:
            if where == "here":
                for name in "modeling_scratch", "tokenization":
                    del sys.modules[name]
                import modeling_scratch
            print("\\n" + json.dumps({"answer": globals()[function](where, *arguments)}), flush=True)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, (where, function, arguments)

def run(plan):
    for line in plan:
        in_a_child(*line)
"""


def run_fresh(code: str, plan: Sequence[tuple], home: Path, **environment: str) -> list[Any]:
    """What functions of the code return, as JSON has it, for a plan of rows (where, function, argument, ...).

    where: "there", where this package cannot be imported, or "here", where it is; functions take it first.
    """
    program = FORKS + code + "\nrun(json.loads(sys.argv[1]))\n"
    rows = json.dumps([(where, function, arguments) for where, function, *arguments in plan])
    printed = run_without_package(program, rows, HF_HOME=str(home), **environment)
    return [json.loads(line)["answer"] for line in printed.splitlines() if line.startswith('{"answer"')]
