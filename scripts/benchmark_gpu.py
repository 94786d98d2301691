# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Measure throughput and memory relative to the Hugging Face classes on a CUDA device, and write a Markdown table.

python scripts/benchmark_gpu.py --output gpu.md            # or: make bench-gpu
python scripts/benchmark_gpu.py --quick                    # tiny sizes, as a smoke test

The sizes are those of BERT base, in bfloat16 unless --dtype says otherwise. It ends with one line where there is no
CUDA device.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

from modeling_scratch.benchmark.gpu_table import GPU_WORKLOADS, check_device, gpu_conditions, gpu_table
from modeling_scratch.benchmark.run import parse, run
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import check_output, write_text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("workload", nargs="*", help=f"Workloads of benchmark; by default {', '.join(GPU_WORKLOADS)}.")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], help="By default what the device has.")
    parser.add_argument("--rounds", type=int, default=7, help="The number of rounds per side.")
    parser.add_argument("--batch_size", type=int, help="The number of texts per training step, as of benchmark.")
    parser.add_argument("--data_folder", type=Path, help="Holds sst2/, imdb/, multi30k/; synthetic texts by default.")
    parser.add_argument("--quick", action="store_true", help="Use tiny sizes and two rounds, as a smoke test.")
    parser.add_argument("--output", type=Path, help="The Markdown file; it is printed in any case.")
    parser.add_argument("--overwrite", action="store_true", help="Replace the file of --output.")
    given = parser.parse_args(arguments)
    try:
        check_device()
        if given.output is not None:
            check_output("--output", str(given.output), None, given.overwrite)
        dtype = given.dtype or ("bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16")
        options = [
            *(given.workload or GPU_WORKLOADS),
            "--device",
            "cuda",
            "--dtype",
            dtype,
            "--rounds",
            str(given.rounds),
        ]
        options += ["--quick"] if given.quick else []
        for name in ("batch_size", "data_folder"):
            options += [f"--{name}", str(vars(given)[name])] if vars(given)[name] is not None else []
        conditions = gpu_conditions(dtype)
        page = gpu_table(run(parse(options)), conditions)
        print(f"\n{page}")
        if given.output is not None:
            write_text(given.output, page)
    except (DataError, OSError) as error:
        print(f"benchmark_gpu.py: error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main()
