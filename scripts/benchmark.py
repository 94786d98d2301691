# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Benchmark speed against Hugging Face's equivalent classes, in one process and in turns.

    modeling-scratch benchmark train-sst2
    modeling-scratch benchmark all --data_folder data --json benchmark.json
    modeling-scratch benchmark train-imdb --device cuda --dtype bfloat16

Both sides have equal weights, sizes, dropout, attention backend, threads and texts, and their outputs are compared
before timing. They run in turns; a ratio is the median over pairs. A training step consists of forward, backward,
clipping and fused AdamW, as in Trainer, without Trainer's overhead, which is equal for both.
"""

from modeling_scratch.benchmark.run import BenchmarkArguments, run
from modeling_scratch.benchmark.settings import Settings
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(run, (BenchmarkArguments, Settings), __doc__, first="--workload")

if __name__ == "__main__":
    quiet_libraries()
    main()
