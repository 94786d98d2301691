# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify, tag or translate the texts of a file, or answer its questions, with a checkpoint, in input order.

    modeling-scratch predict --model runs/demo --input reviews.csv --output labels.jsonl
    cat lines.txt | modeling-scratch predict --model runs/demo | head
    modeling-scratch predict --model runs/demo --input reviews.csv --output labels.csv --top_k all --threshold 0.8

Each output row has `row` (from 1), `label` and `score`: the most likely label and its probability; for multi-label
models (config.problem_type) lists of all labels and probabilities; for a regression the predicted number. Rows without
text have neither label nor score. --top_k adds the most likely classes; below --threshold, there is no label. The
output file appears once it is complete.

A tagger gives each row a list, `entities` or `words`, of pieces of the text, with `text`, `label`, `score`, and the
`start` and `end` of a piece.

A translator gives each row its `translation`; `modeling-scratch generate` has the options of its search.

A model that answers questions reads those of SQuAD's JSON, or of a table with the columns question and context. Each
output row has `row`, `id`, `answer`, `score`, and the `start` and `end` of the answer in the context.

`modeling-scratch train-classifier` saves models with calibrated probabilities; results.md says how often answers above
a score are right.
"""

import signal
import sys
from collections.abc import Sequence

from modeling_scratch.inference.arguments import PredictArguments
from modeling_scratch.inference.predict import predict
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(predict, PredictArguments, __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
