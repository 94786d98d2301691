# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify, tag or translate the texts of a file, or answer its questions, with a checkpoint, in input order.

    modeling-scratch predict --model runs/demo --input reviews.csv --output labels.jsonl
    cat lines.txt | modeling-scratch predict --model runs/demo | head

Each output row has `row` (from 1) and the answer, such as `label` and `score`. Rows without text have no answer. The
output file appears once it is complete.
"""

import signal
import sys

from modeling_scratch.inference.arguments import PredictArguments
from modeling_scratch.inference.predict import predict
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(predict, PredictArguments, __doc__)

if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
