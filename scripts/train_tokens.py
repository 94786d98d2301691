# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a tagger for names or parts of speech and its tokenizer from scratch, or fine-tune a checkpoint.

    modeling-scratch train-tokens --train_file train.conll --test_file test.conll --output_dir runs/names
    modeling-scratch train-tokens --train_file train.conllu --output_dir runs/tags
    modeling-scratch train-tokens --train_file train.jsonl --label_column ner_tags \
        --model_name_or_path bert-base-cased --output_dir runs/bert-names

All arguments of transformers.TrainingArguments are supported. The output folder holds the model, its tokenizer, the
run's configuration, its scores beside those of a baseline, the learning curve and a model card (README.md).
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import TAG

main = program(TAG, __doc__)

if __name__ == "__main__":
    main()
