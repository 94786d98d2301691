# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A training program of which one process, number KILLED_RANK, is killed in its fifth step."""

import importlib
import os
import signal
import sys

from processes import at_call, send
from transformers import Trainer

if __name__ == "__main__":
    if os.environ["RANK"] == os.environ["KILLED_RANK"]:
        at_call(Trainer, "training_step", 5, send(signal.SIGKILL))()
    importlib.import_module(sys.argv.pop(1)).main()
