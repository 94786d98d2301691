# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a translation model and its vocabulary from scratch, or fine-tune a checkpoint; score it with sacreBLEU.

    modeling-scratch train-translation --data_dir multi30k --source_column en --target_column de --output_dir runs/en-de

Checkpoints are chosen by validation BLEU; the test split, if any, is translated once at the end.
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import TRANSLATE

main = program(TRANSLATE, __doc__)

if __name__ == "__main__":
    main()
