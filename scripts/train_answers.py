# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a model that answers questions by a piece of a text from scratch, or fine-tune a checkpoint.

modeling-scratch train-answers --train_file train-v2.0.json --validation_file dev-v2.0.json --output_dir runs/squad
modeling-scratch train-answers --data_dir questions --model_name_or_path bert-base-cased --learning_rate 5e-5
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import ANSWER

main = program(ANSWER, __doc__)

if __name__ == "__main__":
    main()
