# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Convert a native checkpoint into a scratch one, or export a scratch one as native, and verify the result.

    python scripts/convert_checkpoint.py --input bert-base-uncased --output_dir runs/bert
    python scripts/convert_checkpoint.py --input runs/mine --output_dir runs/mine-bert --text_file reviews.txt

The direction follows from the input. What was written is loaded again, and both models are asked the same: random
tokens and real texts, with padding and without. The folder appears only if they answer the same.
"""

from collections.abc import Sequence

from modeling_scratch.bridges.verified_conversion import ConversionArguments, convert
from modeling_scratch.utils.command_line import run_program


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(convert, ConversionArguments, __doc__, arguments)


if __name__ == "__main__":
    main()
