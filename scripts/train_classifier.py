# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier and its tokenizer from scratch, or fine-tune a checkpoint, and evaluate it.

    make train                                  # on the demo reviews, with suitable settings
    modeling-scratch train-classifier --data_dir my_reviews --output_dir runs/mine

The number of training texts chooses the settings that are not given.
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import CLASSIFY

main = program(CLASSIFY, __doc__)

if __name__ == "__main__":
    main()
