# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify texts with any checkpoint of a text classifier, in files of any size, and answer in the order they came.

    python scripts/predict.py --model runs/demo --input reviews.csv --output labels.jsonl
    cat lines.txt | python scripts/predict.py --model runs/demo | head

An answer has `row` (1 for the first of the input), `label` and `score`: the likeliest label and its probability; where
texts can have several labels (config.problem_type), all of them and their probabilities, as lists; of a regression, the
number itself. A row without a text is kept, with neither label nor score. A file is there once it is complete.
"""

import signal
import sys
from collections.abc import Sequence

from modeling_scratch.inference.classification import PredictArguments, predict
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(predict, PredictArguments, __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
