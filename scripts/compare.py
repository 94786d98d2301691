# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare runs on the texts that they were evaluated on: which is better, and where they disagree.

    modeling-scratch compare runs/a runs/b
    modeling-scratch compare runs/a runs/b runs/c --output comparison.json

The folders are those of `modeling-scratch train-classifier`, `train-tokens` or `train-answers`, each with its
predictions.jsonl.
"""

from modeling_scratch.report.comparison import CompareArguments, compare
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(compare, CompareArguments, __doc__, first="--runs")

if __name__ == "__main__":
    quiet_libraries()
    main()
