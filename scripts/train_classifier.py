# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier and its tokenizer from scratch, or fine-tune a checkpoint, and evaluate it.

    make train                                  # on the demo reviews, with suitable settings
    modeling-scratch train-classifier --data_dir my_reviews --output_dir runs/mine
    modeling-scratch train-classifier --dataset_name sst2 --output_dir runs/sst2 --preset tutorial --num_train_epochs 4

All arguments of transformers.TrainingArguments are supported. The output folder holds the model, the tokenizer, the
configuration of the run (run_config.json), its scores (all_results.json, evaluation.json, results.md), its predictions
(predictions.jsonl, for `modeling-scratch compare`), plots of its confusion matrix and learning curve, and a model card
(README.md).

--recipe minutes, hour or night chooses the sizes for that time and the texts, and pretrains on the training texts
first.

--search_trials 20 searches for training arguments on validation and prints the best ones. Repeating the command
continues a stopped search.
"""

import sys
from collections.abc import Sequence
from functools import partial

from modeling_scratch.training.classification import with_demo_settings
from modeling_scratch.training.stages import ARGUMENTS, train
from modeling_scratch.utils.command_line import run_program


def main(arguments: Sequence[str] | None = None) -> None:
    given = with_demo_settings(sys.argv[1:] if arguments is None else arguments)
    run_program(partial(train, given), ARGUMENTS, __doc__, given)


if __name__ == "__main__":
    main()
