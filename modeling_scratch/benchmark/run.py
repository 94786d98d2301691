# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The benchmark program: its options, and the table of the results."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import ClassVar

import torch
import transformers

import modeling_scratch

from ..sharing.run_record import describe_hardware
from ..utils.errors import DataError
from ..utils.files import check_output, write_text
from ..utils.options import REQUIRED, option
from .settings import Settings
from .workloads import WORKLOADS

OTHERS_TRAIN = "train-sst2 and train-imdb measure training; logs of `pretrain` and `train-translation` have their rates"
HEADER = """| workload | setting | ours | peer | ratio | middle half |
| --- | --- | ---: | ---: | ---: | ---: |"""


@dataclass
class BenchmarkArguments:
    """The workloads, and where their results go."""

    workload: list[str] = option(REQUIRED, "The workloads to measure.", ["all", *WORKLOADS])
    threads: int | None = option(None, "The number of torch threads; torch's default if not given.")
    json: Path | None = option(None, "A file for all results: one line of JSON, as the history of versions has.")
    overwrite: bool = option(False, "Replace the file of --json.")

    RETIRED: ClassVar[Mapping[str, str]] = {
        "--history": "append the line of --json FILE to the history: cat FILE >> history.jsonl",
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
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    hardware = describe_hardware(torch.device(settings.device))
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    print(f"{hardware}; {', '.join(map(' '.join, versions.items()))}\n", flush=True)
    if settings.quick:
        print("--quick: toy sizes as a smoke test; the figures are not meaningful.\n")
    print(HEADER, flush=True)
    rows = []
    for name in WORKLOADS if "all" in arguments.workload else dict.fromkeys(arguments.workload):
        for row in WORKLOADS[name](settings):
            rows.append(row)
            sides = [f"{row[side]:,.0f} tokens/s" for side in ("ours", "peer")]
            low, high = row["ratio_range"]
            cells = [row["workload"], row["setting"], *sides, f"{row['ratio']:.2f}", f"{low:.2f}–{high:.2f}"]
            print(f"| {' | '.join(cells)} |", flush=True)
    if arguments.json:
        conditions = {**asdict(settings), **versions}
        del conditions["data_folder"]  # a path of the user
        measured = {"version": modeling_scratch.__version__, "date": date.today().isoformat(), "processor": hardware}
        line = json.dumps({**measured, "conditions": conditions, "rows": rows}, ensure_ascii=False)
        write_text(arguments.json, f"{line}\n")
