# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Speed and memory beside Hugging Face's own classes: both in one process, in turns, of the same function.

    python scripts/benchmark.py import
    python scripts/benchmark.py all --data_folder data --json benchmark.json --plot benchmark.png
    python scripts/benchmark.py train-imdb --device cuda --dtype bfloat16 --peak_tflops 989

Both sides have equal weights, sizes, dropout, attention backend, threads and texts, and have to give the same answers
before anything is timed. They take turns; a ratio is the median over the pairs. Training is what Trainer does with a
batch (forward, backward, clipping, fused AdamW), without its bookkeeping, which is the same for both.
"""

import sys
from collections.abc import Sequence

import transformers

from modeling_scratch.benchmark.run import parse, run
from modeling_scratch.utils.errors import DataError


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        run(parse(arguments))
    except (DataError, OSError) as error:
        sys.exit(f"benchmark.py: error: {error}")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main()
