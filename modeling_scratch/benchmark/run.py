# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The benchmark program: workloads, options, and the table of the results."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import torch
import transformers

import modeling_scratch

from ..sharing.run_record import describe_hardware
from ..utils.errors import DataError
from ..utils.files import check_output, write_json
from . import history
from .inference_speed import generate, infer, precisions, translate
from .models import CLASSIFIER, make_peer
from .settings import Settings
from .training import memory, mlm, train, train_translator

WORKLOADS: dict[str, Callable[[Settings], Iterator[dict[str, Any]]]] = {
    "train-sst2": partial(train, "sst2"),
    "train-imdb": partial(train, "imdb"),
    "train-marian": train_translator,
    "memory": memory,
    "mlm": mlm,
    "infer-sst2": partial(infer, "sst2"),
    "infer-imdb": partial(infer, "imdb"),
    "generate-gpt2": generate,
    "translate-marian": translate,
    "precision": precisions,
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "workload",
        nargs="+",
        choices=["all", *WORKLOADS],
        help="The workloads to measure; precision requires --model and --data_folder.",
    )
    parser.add_argument("--rounds", type=int, default=7, help="The number of rounds per side.")
    parser.add_argument("--quick", action="store_true", help="Use tiny sizes and two rounds, as a smoke test.")
    parser.add_argument("--data_folder", type=Path, help="Holds sst2/, imdb/, multi30k/; synthetic texts by default.")
    parser.add_argument("--model", help="A trained classifier, for the precision workload.")
    parser.add_argument("--threads", type=int, help="The number of torch threads; torch's default if not given.")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda, which uses BERT base sizes and packed batches.")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32", help="The precision.")
    parser.add_argument("--peak_tflops", type=float, help="The device's peak rate, to report utilisation.")
    parser.add_argument("--attention", default="sdpa", help="The attention backend of both sides.")
    parser.add_argument("--batch_size", type=int, help="Overrides the workload's texts per training step.")
    parser.add_argument("--compile", action="store_true", help="Use torch.compile for training and generation.")
    parser.add_argument("--dropout", type=float, default=0.1, help="The dropout of hidden states in training.")
    parser.add_argument("--attention_dropout", type=float, default=0.1, help="That of attention weights.")
    parser.add_argument("--seed", type=int, default=0, help="The seed of weights, texts and their order.")
    parser.add_argument("--json", type=Path, help="A JSON file for all results.")
    parser.add_argument("--history", type=Path, help="A file of JSON lines that gets one more, with all results.")
    parser.add_argument("--overwrite", action="store_true", help="Replace the file of --json.")
    options = parser.parse_args(arguments)
    _check(options, parser)
    return options


def _check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    if options.json is not None:
        check_output("--json", str(options.json), options.model, options.overwrite)
    if options.history is not None:
        check_output("--history", str(options.history), None, overwrite=True)  # it grows
        if options.quick:
            parser.error("--history and --quick exclude each other: toy sizes give no history")
    if "precision" in options.workload and options.model is None:
        parser.error("precision requires --model, the folder of a trained text classifier")
    if not 0 <= options.seed < 2**32:
        parser.error(f"--seed {options.seed}: must be from 0 to {2**32 - 1:,}")
    for name in ("rounds", "threads", "batch_size"):
        if (number := getattr(options, name)) is not None and number < 1:
            parser.error(f"--{name} {number}: must be at least 1")
    if options.threads and options.threads > (processors := os.cpu_count() or 1):
        parser.error(f"--threads {options.threads}: this machine has {processors} processors")
    for name in ("dropout", "attention_dropout"):
        if not 0 <= (rate := getattr(options, name)) < 1:
            parser.error(f"--{name} {rate}: must be at least 0 and below 1")
    if options.peak_tflops is not None and not 0 < options.peak_tflops < inf:
        parser.error(f"--peak_tflops {options.peak_tflops}: must be above 0")
    tries: dict[str, Callable[..., object]] = {"device": partial(torch.empty, 0), "attention": _try_attention}
    for option, use in tries.items():
        try:
            use(**{option: getattr(options, option)})
        except (RuntimeError, AssertionError, ValueError, ImportError) as error:
            reason = str(error).partition("\n")[0] or "not available"
            raise DataError(f"--{option} {getattr(options, option)}: {reason}") from error


def _try_attention(attention: str) -> None:
    """Build a tiny model with an attention backend, which raises an error if there is none of that name."""
    make_peer(CLASSIFIER, Settings(quick=True, attention=attention))


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the workloads, printing each row of results as it completes."""
    if options.threads:
        torch.set_num_threads(options.threads)
    given = {field.name: getattr(options, field.name) for field in fields(Settings)}
    settings = Settings(**given | {"rounds": min(options.rounds, 2) if options.quick else options.rounds})
    hardware = describe_hardware(torch.device(settings.device))
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    conditions = {key: value for key, value in asdict(settings).items() if key not in ("data_folder", "model")}
    measured = history.today(modeling_scratch.__version__, hardware, torch.get_num_threads())
    if options.history:
        history.check_is_new(options.history, measured)
    print(f"{hardware}; torch {torch.__version__}, transformers {transformers.__version__}\n", flush=True)
    if options.quick:
        print("--quick: toy sizes as a smoke test; the figures are not meaningful.\n")
    print(HEADER, flush=True)
    rows = []
    for name in WORKLOADS if "all" in options.workload else dict.fromkeys(options.workload):
        for row in WORKLOADS[name](settings):
            rows.append(row)
            print(table_row(row), flush=True)
    if options.json:
        write_json(options.json, {"conditions": {**conditions, **versions, "hardware": hardware}, "rows": rows})
    if options.history:
        history.append(options.history, {**measured, **versions, "conditions": conditions}, rows)
    return rows


ResultRow = dict[str, Any]

HEADER = """| workload | setting | ours | peer | ratio | middle half | of the peak |
| --- | --- | ---: | ---: | ---: | ---: | ---: |"""


def table_row(row: ResultRow) -> str:
    """Format a table row. Of the peak: the rate of the architecture's operations, with --peak_tflops."""
    sides = [f"{row[side]:,.0f} {row['unit']}" for side in ("ours", "peer")]
    low, high = row["ratio_range"]
    of_peak = f"{row['mfu']:.2f}" if "mfu" in row else ""
    cells = [row["workload"], row["setting"], *sides, f"{row['ratio']:.2f}", f"{low:.2f}–{high:.2f}", of_peak]
    return f"| {' | '.join(cells)} |"
