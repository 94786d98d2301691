# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a tagger for names or parts of speech and its tokenizer from scratch, or fine-tune a checkpoint.

modeling-scratch train-tokens --train_file train.conll --test_file test.conll --output_dir runs/names
modeling-scratch train-tokens --train_file train.conllu --output_dir runs/tags
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import TAG

main = program(TAG, __doc__)

if __name__ == "__main__":
    main()
