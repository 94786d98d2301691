# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a translator and its vocabulary from scratch, or a checkpoint further, and score it with sacreBLEU.

    python scripts/train_translation.py --data_dir multi30k --source_column en --target_column de \
        --output_dir runs/en-de
    python scripts/train_translation.py --train_file train.en train.de --test_file test.en test.de \
        --output_dir runs/lines --separate_vocabularies

Every argument of transformers.Seq2SeqTrainingArguments is taken, too. Checkpoints are chosen by BLEU on validation;
test, where there is one, is translated once, at the end. The output folder holds the model, its tokenizers, the
configuration of the run, its scores with their signatures, the translations, the learning curve and a model card of
all that (README.md).
"""

from collections.abc import Sequence

from modeling_scratch.data.translation_pairs import TranslationDataArguments
from modeling_scratch.training.translation import TranslationModelArguments, TranslationTrainingArguments, train
from modeling_scratch.utils.command_line import run_program


def main(arguments: Sequence[str] | None = None) -> None:
    groups = TranslationModelArguments, TranslationDataArguments, TranslationTrainingArguments
    run_program(train, groups, __doc__, arguments)


if __name__ == "__main__":
    main()
