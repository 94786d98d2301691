# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a tokenizer on text and save it for `AutoTokenizer.from_pretrained(folder)`.

    modeling-scratch train-tokenizer --train_file reviews.csv --vocab_size 8000 --output_dir runs/tokenizer

Texts come from one or more files (txt with one text per line, csv, tsv, jsonl, parquet), or from the train split
of a folder or a data set on the Hub.
"""

from collections.abc import Sequence

from modeling_scratch.run.tokenizer import TextArguments, TokenizerArguments, run
from modeling_scratch.utils.command_line import run_program


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(run, (TextArguments, TokenizerArguments), __doc__, arguments, expected=(ValueError, OSError))


if __name__ == "__main__":
    main()
