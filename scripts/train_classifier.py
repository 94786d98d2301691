# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier and its tokenizer from scratch, or fine-tune a checkpoint, and evaluate it.

    make train                                  # on the demo reviews, with suitable settings
    modeling-scratch train-classifier --data_dir my_reviews --output_dir runs/mine
    modeling-scratch train-classifier --dataset_name sst2 --output_dir runs/sst2 --preset tutorial --num_train_epochs 4

All arguments of transformers.TrainingArguments are supported. The output folder holds the model, the tokenizer, the
configuration of the run (run_config.json), its scores (all_results.json, evaluation.json, results.md), its predictions
(predictions.jsonl, for `modeling-scratch compare`), plots of its confusion matrix and learning curve, and a model card
(README.md).

The number of training texts chooses the settings that are not given. --pretrain_minutes 60 pretrains on masked words of
the training texts, and of --unlabelled_file, first.

--search_trials 20 searches for training arguments on validation and prints the best ones.
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import CLASSIFY

main = program(CLASSIFY, __doc__)

if __name__ == "__main__":
    main()
