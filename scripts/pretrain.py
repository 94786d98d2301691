# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretrain an encoder, a decoder or an encoder-decoder on plain text, from scratch or from a checkpoint.

    modeling-scratch pretrain --objective clm --train_file input.txt --tokenizer_kind character --block_size 64 \
        --per_device_train_batch_size 12 --max_steps 2000 --output_dir runs/characters
    modeling-scratch train-classifier --model_name_or_path runs/encoder --data_dir reviews --output_dir runs/tuned
"""

from modeling_scratch.run.train import program
from modeling_scratch.tasks import PRETRAIN

main = program(PRETRAIN, __doc__)

if __name__ == "__main__":
    main()
