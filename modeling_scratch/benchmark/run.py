# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The benchmark program: workloads, options, and the table of the results."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch
import transformers

import modeling_scratch

from ..sharing.run_record import describe_hardware
from ..utils.errors import DataError
from ..utils.files import check_output, write_json
from ..utils.options import REQUIRED, option
from . import history
from .inference_speed import generate, infer, translate
from .settings import Settings
from .training import train

WORKLOADS: dict[str, Callable[[Settings], Iterator[dict[str, Any]]]] = {
    "train-sst2": partial(train, "sst2"),
    "train-imdb": partial(train, "imdb"),
    "infer-sst2": partial(infer, "sst2"),
    "infer-imdb": partial(infer, "imdb"),
    "generate-gpt2": generate,
    "translate-marian": translate,
}
OTHERS_TRAIN = "train-sst2 and train-imdb measure training; logs of `pretrain` and `train-translation` have their rates"


@dataclass
class BenchmarkArguments:
    """The workloads, and where their results go."""

    workload: list[str] = option(REQUIRED, "The workloads to measure.", ["all", *WORKLOADS])
    threads: int | None = option(None, "The number of torch threads; torch's default if not given.")
    json: Path | None = option(None, "A JSON file for all results.")
    history: Path | None = option(None, "A file of JSON lines that gets one more, with all results.")
    overwrite: bool = option(False, "Replace the file of --json.")

    RETIRED: ClassVar[Mapping[str, str]] = {
        "--workload memory": "`/usr/bin/time -v` tells the memory of a training program",
        **dict.fromkeys(("--workload mlm", "--workload train-marian"), OTHERS_TRAIN),
        **dict.fromkeys(("--workload precision", "--model"), "time `predict --precision` on texts with labels"),
        "--peak_tflops": "use scripts/gpu.py, which tells TFLOP/s",
        "--attention": "both sides use sdpa",
        **dict.fromkeys(("--dropout", "--attention_dropout"), "both sides have a dropout of 0.1"),
        "--seed": "weights, texts and their order are always the same",
    }

    def __post_init__(self) -> None:
        if self.json is not None:
            check_output("--json", str(self.json), None, self.overwrite)
        if self.history is not None:
            check_output("--history", str(self.history), None, overwrite=True)  # it grows
        processors = os.cpu_count() or 1
        if self.threads is not None and not 1 <= self.threads <= processors:
            raise DataError(f"--threads {self.threads}: must be from 1 to {processors}, the processors of this machine")


def run(arguments: BenchmarkArguments, settings: Settings) -> None:
    """Run the workloads, printing each row of results as it completes."""
    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0] or "not available"
        raise DataError(f"--device {settings.device}: {reason}") from error
    if arguments.history and settings.quick:
        raise DataError("--history and --quick exclude each other: toy sizes give no history")
    if arguments.history:
        history.read_history(arguments.history)  # before hours of measuring
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    hardware = describe_hardware(torch.device(settings.device))
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    conditions = {**asdict(settings), **versions, "hardware": hardware}
    del conditions["data_folder"]  # a path of the user
    print(f"{hardware}; torch {torch.__version__}, transformers {transformers.__version__}\n", flush=True)
    if settings.quick:
        print("--quick: toy sizes as a smoke test; the figures are not meaningful.\n")
    print(HEADER, flush=True)
    rows = []
    for name in WORKLOADS if "all" in arguments.workload else dict.fromkeys(arguments.workload):
        for row in WORKLOADS[name](settings):
            rows.append(row)
            print(table_row(row), flush=True)
    if arguments.json:
        write_json(arguments.json, {"conditions": conditions, "rows": rows})
    if arguments.history:
        measured = {"version": modeling_scratch.__version__, "date": date.today().isoformat(), "processor": hardware}
        history.append(arguments.history, {**measured, "conditions": conditions}, rows)


HEADER = """| workload | setting | ours | peer | ratio | middle half |
| --- | --- | ---: | ---: | ---: | ---: |"""


def table_row(row: dict[str, Any]) -> str:
    sides = [f"{row[side]:,.0f} tokens/s" for side in ("ours", "peer")]
    low, high = row["ratio_range"]
    cells = [row["workload"], row["setting"], *sides, f"{row['ratio']:.2f}", f"{low:.2f}–{high:.2f}"]
    return f"| {' | '.join(cells)} |"
