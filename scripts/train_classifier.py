# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier and its tokenizer from scratch, or fine-tune a checkpoint, and evaluate it honestly.

    make train                                  # on the reviews that come with the project, with settings for them
    python scripts/train_classifier.py --data_dir my_reviews --output_dir runs/mine
    python scripts/train_classifier.py --dataset_name sst2 --output_dir runs/sst2 --preset tutorial --num_train_epochs 4

Every argument of transformers.TrainingArguments is taken, too. The output folder holds the model, the tokenizer, the
whole configuration of the run (run_config.json), its scores (all_results.json, evaluation.json, results.md), the
pictures of its confusion matrix and learning curve, and a model card of all that (README.md).

With --search_trials 20 it searches, on validation, for the arguments to train with, and prints them; the same command
goes on with a search that was stopped.
"""

import sys
from collections.abc import Sequence

from modeling_scratch.data.splits import DataArguments
from modeling_scratch.training.classification import ClassifierTrainingArguments, ModelArguments, train, with_recipe
from modeling_scratch.utils.command_line import run_program


def main(arguments: Sequence[str] | None = None) -> None:
    given = with_recipe(sys.argv[1:] if arguments is None else arguments)
    run_program(train, (ModelArguments, DataArguments, ClassifierTrainingArguments), __doc__, given)


if __name__ == "__main__":
    main()
