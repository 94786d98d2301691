# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Benchmark speed and memory against Hugging Face's equivalent classes, in one process and in turns.

    modeling-scratch benchmark train-sst2
    modeling-scratch benchmark all --data_folder data --json benchmark.json
    modeling-scratch benchmark train-imdb --device cuda --dtype bfloat16 --peak_tflops 989

Both sides have equal weights, sizes, dropout, attention backend, threads and texts, and their outputs are compared
before timing. They run in turns; a ratio is the median over pairs. A training step consists of forward, backward,
clipping and fused AdamW, as in Trainer, without Trainer's overhead, which is equal for both.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress

import transformers

from modeling_scratch.benchmark.run import parse, run
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.terminal import flush_output, protect_terminal


def main(arguments: Sequence[str] | None = None) -> None:
    protect_terminal()
    try:
        run(parse(arguments))
        flush_output()
    except (DataError, OSError) as error:
        with suppress(OSError):
            flush_output()
        print(f"modeling-scratch benchmark: error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("modeling-scratch benchmark: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main()
